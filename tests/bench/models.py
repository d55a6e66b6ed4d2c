"""The models that contestants answer from, all of one checkpoint, made once below .build/bench."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

from builder.layers.parts import Part, bring_up_to_date, digest, package_digest
from support import checkpoints
from support.paths import BUILD, LAYER, ROOT

OUT: Final = BUILD / "bench"
PINS: Final = Path(__file__).with_name("requirements.txt")
EXPORT: Final = Path(__file__).with_name("export.py")
BUILDER: Final = LAYER / "builder"
MAKES_MODEL: Final = tuple(BUILDER / package for package in ("checkpoint", "graph", "model"))


def make(*parts: Part) -> dict[str, Path]:
    """Builds the parts whose inputs changed; the folder of each by its name.

    Sizes are not checked: the alternatives are over Lambda's limit, and the report says so.
    """
    return bring_up_to_date(list(parts), OUT, lambda _: None)


def random_checkpoint() -> Path:
    """Random weights in the shape of bert-base-chinese."""

    def fill(folder: Path) -> None:
        checkpoints.write(folder)

    inputs = digest(Path(checkpoints.__file__))
    return make(Part("checkpoint", "checkpoint", inputs, fill))["checkpoint"]


def digest_of(checkpoint: Path) -> str:
    """A short digest of a checkpoint's files."""
    return digest(*sorted(path for path in checkpoint.iterdir() if path.is_file()))[:12]


def ours(checkpoint: Path) -> Path:
    """Our INT8 model; --force because the answers of random weights are near ties."""
    key = digest_of(checkpoint)
    rules = digest(package_digest(*MAKES_MODEL), BUILDER / "data" / "calibration.txt")
    out, stamp = OUT / "models" / key, OUT / "stamps" / f"built-{key}"

    current = stamp.is_file() and stamp.read_text("utf-8") == rules
    if not (current and (out / "model.json").is_file()):
        command = [sys.executable, "-m", "builder.model", str(checkpoint), "--out", str(out)]
        subprocess.run([*command, "--force"], check=True, cwd=ROOT)
        stamp.write_text(rules, "utf-8")
    return out


def exported(checkpoint: Path) -> dict[str, Path]:
    """The alternatives' models: ONNX files by the articles' steps, and the checkpoint itself."""

    def export(way: str, source: Path, folder: Path) -> None:
        (folder / "model").mkdir()
        command = [sys.executable, str(EXPORT), way, str(source), str(folder / "model")]
        subprocess.run(command, check=True)

    def copy(folder: Path) -> None:
        shutil.copytree(checkpoint, folder / "model")

    key = digest_of(checkpoint)
    inputs = digest(key, EXPORT, PINS)
    found = make(
        Part("float32", "float32", inputs, partial(export, "float32", checkpoint)),
        Part("checkpoint-copy", "checkpoint-copy", key, copy),
    )
    int8 = Part("int8", "int8", inputs, partial(export, "int8", found["float32"] / "model"))
    return found | make(int8)
