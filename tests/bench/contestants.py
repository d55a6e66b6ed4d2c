"""Who runs: ours as template.yaml deploys it, and each alternative with packages and a model of its
own.

Everything is made below .build/bench, once, and again when its inputs change. All have bytecode,
all run under the same real runtime client (tests/lambda_opt.py), all answer from the same
checkpoint.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from builder.layers import assemble as layers
from builder.layers import bytecode, sizes, wheels
from builder.layers.parts import Part, bring_up_to_date, digest, package_digest
from support import checkpoints
from support.lambda_opt import ARCH, LOCAL, Layout, layout, merge

HERE: Final = Path(__file__).parent
OUT: Final = layers.ROOT / ".build" / "bench"
PINS: Final = (HERE / "requirements.txt", layers.ROOT / "requirements.txt")
ENGINE: Final = ("numpy", "onnxruntime", "fastapi", "mangum")
BARE: Final = "article without bytecode"
WITH_TORCH: Final = "article with torch"
PACKAGES: Final = {  # of each alternative: what it installs, and the model it runs
    "article": (("transformers", *ENGINE), "int8"),
    WITH_TORCH: (("transformers", "torch", *ENGINE), "int8"),  # transformers imports what it finds
    "careful": (("tokenizers", *ENGINE), "int8"),
    "pipeline": (("transformers", "torch"), "checkpoint-copy"),
    "openvino": (("openvino", "tokenizers", "numpy"), "int8"),
}
CODE: Final = {
    "openvino": "openvino_latency",
    WITH_TORCH: "article",
}  # modules that are called otherwise
OURS: Final = "ours"
BUILDER: Final = layers.ROOT / "layer" / "builder"
MAKES_MODEL: Final = tuple(BUILDER / package for package in ("checkpoint", "graph", "model"))
COLD: Final = (OURS, "careful", "article", BARE, WITH_TORCH, "pipeline")


class Contestant(NamedTuple):
    """One competitor: where it lies and what its environment adds."""

    name: str
    where: Layout
    environment: dict[str, str]

    def threads(self, count: int) -> dict[str, str]:
        """Its environment with so many threads of computation."""
        return {**self.environment, "BENCH_THREADS": str(count), "FILLMASK_THREADS": str(count)}

    def sizes(self) -> dict[str, int]:
        """Bytes of the model's files and of everything beside them, unzipped."""
        model = sizes.total(self.where.opt / "model")
        everything = sizes.total(self.where.opt) + sizes.total(self.where.task)
        return {"model": model, "packages": everything - model}


def prepare(source: Path | None) -> dict[str, Contestant]:
    """Make what is missing: minutes the first time. `source` is a checkpoint's folder; None: a
    random one.
    """
    checkpoint = source or _random_checkpoint()
    key = digest(*sorted(path for path in checkpoint.iterdir() if path.is_file()))[:12]
    ours = Contestant(OURS, layout(LOCAL, _build(key, checkpoint), OUT / OURS), {})
    models = _exported(key, checkpoint)
    found = {OURS: ours}
    for name, (packages, model) in PACKAGES.items():
        where = _layout(name, packages, models[model], ours.where)
        found[name] = Contestant(
            name, where, {"MODEL_DIR": str(where.opt / "model"), "HF_HUB_OFFLINE": "1"}
        )
    openvino = found.pop("openvino")
    found["openvino int8"] = openvino._replace(name="openvino int8")
    found["openvino float32"] = Contestant(
        "openvino float32",
        openvino.where,
        {**openvino.environment, "MODEL_DIR": str(models["float32"] / "model")},
    )
    found[BARE] = _bare(found["article"])
    return found


def _random_checkpoint() -> Path:
    inputs = digest(Path(checkpoints.__file__))
    part = Part(
        "checkpoint", "checkpoint", inputs, lambda folder: _nothing(checkpoints.write(folder))
    )
    return bring_up_to_date([part], OUT, _nothing)["checkpoint"]


def _build(key: str, checkpoint: Path) -> Path:
    """Our INT8 model; --force because the answers of random weights are near ties."""
    rules = digest(package_digest(*MAKES_MODEL), BUILDER / "data" / "calibration.txt")
    out = OUT / "models" / key
    command = [
        sys.executable,
        "-m",
        "builder.model",
        str(checkpoint),
        "--out",
        str(out),
        "--force",
    ]
    stamp = OUT / "stamps" / f"built-{key}"
    if (
        not (out / "model.json").is_file()
        or not stamp.is_file()
        or stamp.read_text("utf-8") != rules
    ):
        subprocess.run(command, check=True, cwd=layers.ROOT)
        stamp.write_text(rules, "utf-8")
    return out


def _exported(key: str, checkpoint: Path) -> dict[str, Path]:
    """The alternatives' models: ONNX files by the articles' steps, and the checkpoint itself."""
    script = HERE / "export.py"

    def export(way: str, source: Path, folder: Path) -> None:
        (folder / "model").mkdir()
        subprocess.run(
            [sys.executable, str(script), way, str(source), str(folder / "model")], check=True
        )

    def copy(folder: Path) -> None:
        shutil.copytree(checkpoint, folder / "model")

    inputs = digest(key, script, PINS[0])
    return bring_up_to_date(
        [
            Part("float32", "float32", inputs, partial(export, "float32", checkpoint)),
            Part("checkpoint-copy", "checkpoint-copy", key, copy),
        ],
        OUT,
        _nothing,
    ) | bring_up_to_date(
        [Part("int8", "int8", inputs, partial(export, "int8", OUT / "float32" / "model"))],
        OUT,
        _nothing,
    )


def _layout(name: str, packages: Sequence[str], model: Path, ours: Layout) -> Layout:
    """One alternative as Lambda would lay it out; runtime client and boto3 are those of ours."""
    code = HERE / "alternatives" / f"{CODE.get(name, name)}.py"
    name = name.replace(" ", "-")
    pins = digest(*PINS, *packages, LOCAL, ARCH)
    package = Part(
        f"{name}-packages", f"{name}/packages", pins, partial(_install, packages, ours.interpreter)
    )
    task = Part(
        f"{name}-task", f"{name}/task", digest(code), partial(_copy_code, code, ours.interpreter)
    )
    places = bring_up_to_date([package, task], OUT, _nothing)
    inputs = digest(pins, _inputs(model.name))
    lying = [places[package.name], model]
    opt = bring_up_to_date(
        [Part(f"{name}-opt", f"{name}/opt", inputs, partial(merge, lying))], OUT, _nothing
    )
    return Layout(places[task.name], opt[f"{name}-opt"], ours.runtime, ours.interpreter)


def _inputs(part: str) -> str:
    """The digest of what a part was made from."""
    return (OUT / "stamps" / part).read_text("utf-8").split()[0]


def _bare(whole: Contestant) -> Contestant:
    """The same without bytecode and unable to write any: what `sam build` deploys to Lambda's
    read-only folders.
    """
    where = whole.where
    python = OUT / "python-without-bytecode"
    python.write_text(f'#!/bin/sh\nexec {where.interpreter.path} -B "$@"\n', "utf-8")
    python.chmod(0o755)
    name = BARE.replace(" ", "-")

    def fill(source: Path, folder: Path) -> None:
        shutil.copytree(
            source,
            folder,
            copy_function=os.link,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )

    parts = [
        Part(
            f"{name}-{part}",
            f"{name}/{part}",
            _inputs(f"{whole.name}-{part}"),
            partial(fill, folder),
        )
        for part, folder in (("task", where.task), ("opt", where.opt))
    ]
    places = bring_up_to_date(parts, OUT, _nothing)
    bare = where._replace(
        task=places[f"{name}-task"],
        opt=places[f"{name}-opt"],
        interpreter=where.interpreter._replace(path=str(python)),
    )
    return Contestant(BARE, bare, {**whole.environment, "MODEL_DIR": str(bare.opt / "model")})


def _install(packages: Sequence[str], interpreter: bytecode.Interpreter, folder: Path) -> None:
    """Packages and all they ask for, as pip installs them, at the versions of the requirements
    files.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--root-user-action=ignore",
        f"--target={folder / 'python'}",
    ]
    for file in PINS:
        command += ["--constraint", str(file)]
    subprocess.run([*command, *packages], check=True, env={**os.environ, "PIP_USER": "0"})
    wheels.remove(folder / "python" / "bin")
    # Not bytecode.compile_tree: torch carries a module in the syntax of a later Python, which cannot be compiled.
    subprocess.run(
        [
            interpreter.path,
            "-I",
            "-S",
            "-m",
            "compileall",
            "-qq",
            "-f",
            "-j",
            "0",
            "--invalidation-mode",
            "unchecked-hash",
            str(folder),
        ],
        check=False,
        stdout=subprocess.DEVNULL,
    )


def _copy_code(code: Path, interpreter: bytecode.Interpreter, folder: Path) -> None:
    shutil.copyfile(code, folder / "handler.py")
    bytecode.compile_tree(interpreter, folder, "/var/task")


def _nothing(_: object) -> None:
    """No check of sizes: the alternatives are over Lambda's limit, and the report says so."""
