"""Folders built from inputs: next to their place, only when the inputs changed, renamed when whole.

Equal inputs give equal bytes, modes and times. What the folders hold is assemble.py's business.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

# Of every file: 2000-01-01, so that equal contents give equal zip files.
TIMESTAMP: Final = 946_684_800


class Part(NamedTuple):
    """One folder: its place under the output folder, a digest of its inputs, how it is filled."""

    name: str
    place: str
    inputs: str
    fill: Callable[[Path], None]


def bring_up_to_date(
    parts: list[Part], out: Path, check: Callable[[Mapping[str, Path]], object]
) -> dict[str, Path]:
    """Builds what changed; returns each part's folder by its name.

    `check` sees all folders as they would be and may refuse: then, as after any error, every part
    stays as it was. Raises FileExistsError for a folder that no build here made.
    """
    places = {part.name: out / part.place for part in parts}
    with _alone(out):
        stale = [part for part in parts if not _is_current(part, out)]
        _refuse_others(stale, out)
        staged = {part.name: places[part.name].with_name(f".{part.name}.new") for part in stale}
        try:
            for part in stale:
                _stage(part, staged[part.name])
            check(places | staged)
            for part in stale:
                _publish(part, staged[part.name], out)
        finally:
            for folder in staged.values():
                shutil.rmtree(folder, ignore_errors=True)
    return places


def digest(*inputs: str | Path) -> str:
    """SHA-256 over texts and files (name and content), each kept apart from the next."""
    whole = hashlib.sha256()
    for item in inputs:
        if isinstance(item, str):
            whole.update(b"text" + hashlib.sha256(item.encode()).digest())
            continue
        with item.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
        whole.update(b"file" + hashlib.sha256(item.name.encode()).digest() + content)
    return whole.hexdigest()


def package_digest(*packages: Path) -> str:
    """SHA-256 over every module of whole packages, so that a new module counts by itself."""
    inputs: list[str | Path] = []
    for package in packages:
        for module in sorted(package.rglob("*.py")):
            inputs += [str(module.relative_to(package.parent)), module]
    return digest(*inputs)


def copy(files: Iterable[Path], root: Path, folder: Path) -> None:
    """Copies `files`, which lie under `root`, to the same places under `folder`."""
    for file in files:
        copied = folder / file.relative_to(root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """One build at a time in `out`."""
    stamps = out / "stamps"
    stamps.mkdir(parents=True, exist_ok=True)
    with (stamps / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stage(part: Part, folder: Path) -> None:
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)  # what a killed build left
    folder.mkdir(parents=True)
    part.fill(folder)

    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        path.chmod(0o755 if path.is_dir() else 0o644)  # Lambda's user is not the owner
        os.utime(path, (TIMESTAMP, TIMESTAMP))
    print(f"{part.name}: built in {time.monotonic() - started:.1f} s", flush=True)


def _publish(part: Part, staged: Path, out: Path) -> None:
    stamp, place = _stamp(part, out), out / part.place
    stamp.touch()  # tells whose the place is, even to the build after one that was killed here
    _swap(staged, place)
    stamp.write_text(_current(part, place), "utf-8")


def _swap(staged: Path, place: Path) -> None:
    old = staged.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    staged.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _refuse_others(parts: list[Part], out: Path) -> None:
    """A folder of that name that no build here made is somebody else's."""
    for part in parts:
        place = out / part.place
        holds = place.is_file() or (place.is_dir() and any(place.iterdir()))
        if holds and not _stamp(part, out).exists():
            raise FileExistsError(f"{place} was not built here, and would be replaced.")


def _stamp(part: Part, out: Path) -> Path:
    return out / "stamps" / part.name


def _is_current(part: Part, out: Path) -> bool:
    stamp, place = _stamp(part, out), out / part.place
    if not stamp.is_file() or not place.is_dir():
        return False
    return stamp.read_text("utf-8") == _current(part, place)


def _current(part: Part, place: Path) -> str:
    """What the stamp says of a part that needs no build."""
    return f"{part.inputs} {_shape(place)}\n"


def _shape(folder: Path) -> str:
    """A digest of paths, sizes, modes and times: shows a change by hand without reading 200 MB."""
    lines = []
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        size = 0 if path.is_dir() else status.st_size
        name = path.relative_to(folder)
        lines.append(f"{name} {size} {status.st_mode} {status.st_mtime_ns}")
    return digest("\n".join(lines))
