"""The layers' contents: what is taken, what is dropped, what is refused."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from builder.layers import assemble, bytecode, sizes, wheels
from builder.layers.wheels import LayerError
from fillmask.http.info import PACKAGES
from support import lambda_opt

X86, ARM = 62, 183


def elf(machine: int, *, bits: int = 2) -> bytes:
    """The first 20 bytes of a shared object."""
    return b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9) + struct.pack("<HH", 3, machine)


def plant(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path, "utf-8")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_layer_gets_every_pin_but_what_lambda_has() -> None:
    pins = wheels.pinned(assemble.ROOT / "requirements.txt")
    taken = {pin.split("==")[0] for pin in pins}
    assert {"onnxruntime", "tokenizers", "numpy", "fastapi", "mangum"} <= taken
    assert not taken & wheels.PROVIDED
    text = (assemble.ROOT / "requirements.txt").read_text("utf-8")
    assert {name for name in wheels.PROVIDED if f"\n{name}==" in text} == wheels.PROVIDED


@pytest.mark.parametrize(
    "line", ["numpy", "numpy>=2", "numpy==2.*", "-r other.txt", "numpy @ file:///tmp/x.whl"]
)
def test_a_requirement_that_is_not_pinned_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"mangum==0.22.0\n{line}\n", "utf-8")
    with pytest.raises(LayerError, match="not pinned"):
        wheels.pinned(tmp_path / "requirements.txt")


def test_packages_that_are_nowhere_are_an_error_of_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        LayerError, match=r"^no packages for Python 3\.13 on x86_64: .*mangum==0\.0\.0\.$"
    ):
        wheels.fetch(["mangum==0.0.0"], "x86_64", "3.13", tmp_path / "python")


def test_trimming_keeps_what_runs_and_the_licences(tmp_path: Path) -> None:
    python = tmp_path / "python"
    kept = (
        "onnxruntime/__init__.py",
        "onnxruntime/capi/libonnxruntime_providers_shared.so",
        "onnxruntime/capi/onnxruntime_pybind11_state.cpython-313-x86_64-linux-gnu.so",
        "numpy/random/mtrand.py",
        "numpy/lib/testing.py",
        "numpy-2.4.6.dist-info/METADATA",
        "onnxruntime/ThirdPartyNotices.txt",
    )
    plant(
        python,
        *kept,
        "bin/f2py",
        "onnxruntime/capi/libonnxruntime.so.1.32.0",
        "onnxruntime/tools/a.py",
        "onnxruntime/transformers/a/b.py",
        "numpy/lib/tests/test_a.py",
        "numpy/f2py/a.py",
        "numpy/a.pyi",
        "numpy/_core/_simd.cpython-313-x86_64-linux-gnu.so",
        "numpy/__pycache__/a.pyc",
        "numpy-2.4.6.dist-info/RECORD",
        "numpy-2.4.6.dist-info/licenses/numpy/ma/LICENSE",
        "anyio-4.16.0.dist-info/METADATA",
        "anyio-4.16.0.dist-info/LICENSE",
    )
    wheels.trim(python, tmp_path / "licenses")
    assert names(python) == set(kept)
    assert names(tmp_path / "licenses") == {
        "numpy-2.4.6/licenses/numpy/ma/LICENSE",
        "anyio-4.16.0/LICENSE",
    }


def test_the_versions_that_info_tells_can_be_asked_for() -> None:
    assert set(PACKAGES) <= set(wheels.KEPT_METADATA)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.cpython-313-x86_64-linux-gnu.so", elf(ARM), "its machine is arm64"),
        ("liba.so.1.32.0", elf(8), "its machine is number 8"),
        ("a.cpython-311-x86_64-linux-gnu.so", elf(X86), "built for cpython-311"),
        ("a.cpython-313t-x86_64-linux-gnu.so", elf(X86), "built for cpython-313t"),
        ("a.abi3.so", elf(X86, bits=1), "not 64-bit"),
        ("a.so", b"\x7fELF", "not an ELF file"),
        ("a.so", b"version https://example.invalid/", "not an ELF file"),
    ],
)
def test_a_shared_object_that_does_not_fit_is_named(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / "b.abi3.so").write_bytes(elf(X86))
    (tmp_path / "c.cpython-313-x86_64-linux-gnu.so").write_bytes(elf(X86))
    (tmp_path / "a.something.py").write_text("not a shared object", "utf-8")
    assert wheels.check_binaries(tmp_path, "x86_64", "3.13") == 2
    (tmp_path / name).write_bytes(content)
    told = f"^{re.escape(name)} does not fit Python 3.13 on x86_64: .*{reason}"
    with pytest.raises(LayerError, match=told):
        wheels.check_binaries(tmp_path, "x86_64", "3.13")


def test_over_the_limit_the_biggest_parts_are_named(tmp_path: Path) -> None:
    plant(
        tmp_path / "runtime",
        "python/numpy/a" + "a" * 50,
        "python/numpy/b" + "b" * 50,
        "python/six.py",
    )
    plant(tmp_path / "model", "model/model.onnx.data")
    folders = {"runtime": tmp_path / "runtime", "model": tmp_path / "model"}
    total = sizes.check(folders)
    assert sizes.check(folders, total) == total
    told = f"{total} bytes .* {total - 1}; biggest: runtime: python/numpy 128; model: "
    with pytest.raises(LayerError, match=told):
        sizes.check(folders, total - 1)
    assert sizes.LIMIT == 250 * 1024 * 1024
    assert re.search(r"total +\d+\n", sizes.report(folders))


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, "model.onnx", "tokenizer.json")
    platform = assemble.Platform("x86_64", "3.13", None)
    with pytest.raises(
        LayerError, match=r"not a built model: cold\.onnx, model\.onnx\.data, model\.json missing"
    ):
        assemble.parts(assemble.ROOT, tmp_path, platform)


def test_an_interpreter_must_be_of_the_layers_version(tmp_path: Path) -> None:
    here = bytecode.find(lambda_opt.LOCAL, None)
    assert here is not None
    assert here.path == sys.executable
    assert bytecode.find("3.99", None) is None
    assert bytecode.find(lambda_opt.LOCAL, sys.executable) == here
    told = f"is Python {re.escape(here.release)}, and the layers are for Python 3.99"
    with pytest.raises(LayerError, match=told):
        bytecode.find("3.99", sys.executable)
    for broken in ("/bin/false", str(tmp_path / "python")):
        with pytest.raises(LayerError, match="not a CPython that runs here"):
            bytecode.find("3.13", broken)


def command(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "builder.layers", *options],
        cwd=assemble.ROOT / "layer",
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_ends_with_one_sentence_on_an_error(tmp_path: Path) -> None:
    done = command("--model", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert re.fullmatch(r"error: .* is not a built model: .*\n", done.stderr)
    assert command("--python", "3").returncode == command("--arch", "mips").returncode == 2


def test_a_folder_of_somebody_elses_is_not_replaced(tmp_path: Path) -> None:
    plant(tmp_path, "function/precious")
    done = command("--model", str(lambda_opt.EMBEDDED), "--out", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == f"error: {tmp_path}/function was not built here, and would be replaced.\n"
    assert names(tmp_path) == {"function/precious", "stamps/lock"}


@pytest.mark.slow
@pytest.mark.parametrize("arch", sorted(wheels.MACHINES))
def test_real_layers_are_trimmed_precompiled_and_small(tmp_path: Path, arch: str) -> None:
    options = ("--model", str(lambda_opt.EMBEDDED), "--arch", arch, "--python", lambda_opt.LOCAL)
    built = command(*options, "--out", str(tmp_path))
    assert built.returncode == 0, built.stderr
    assert "built in" not in command(*options, "--out", str(tmp_path)).stdout
    assert {path.name for path in (tmp_path / "layers").iterdir()} == {"runtime", "model", "code"}
    runtime = tmp_path / "layers" / "runtime"
    assert sizes.total(runtime) < 115_000_000
    dropped = [pattern for pattern in wheels.DROPPED if "pycache" not in pattern]
    assert not [path for pattern in dropped for path in (runtime / "python").glob(pattern)]
    assert (runtime / "python/onnxruntime/capi/libonnxruntime_providers_shared.so").is_file()
    check_bytecode(tmp_path)
    if arch == lambda_opt.ARCH:
        check_same(tmp_path, lambda_opt.layout().opt.parent)


def check_bytecode(out: Path) -> None:
    """Each module has bytecode of this Python that is never compared with its source."""
    modules = list(out.rglob("*.py"))
    assert len(modules) > 400
    for path in modules:
        compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        assert compiled.read_bytes()[4:8] == struct.pack(
            "<I", 0b01
        )  # PEP 552: hash-based, unchecked


def check_same(one: Path, two: Path) -> None:
    """Two builds from the same inputs hold the same files."""
    for place in ("layers/runtime", "layers/model", "layers/code", "function"):
        assert names(one / place) == names(two / place)
        for name in names(one / place):
            assert (one / place / name).read_bytes() == (two / place / name).read_bytes(), name
