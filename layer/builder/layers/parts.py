"""Folders built from inputs: beside their place, only when the inputs changed, renamed into it when whole.

Equal inputs give equal bytes, modes and times. What the folders hold is layers.py's business.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

TIMESTAMP: Final = (
    946_684_800  # of every file: 2000-01-01, so that equal contents give equal zip files
)


class Part(NamedTuple):
    """One folder: its place under the output folder, a digest of its inputs, how it is filled."""

    name: str
    place: str
    inputs: str
    fill: Callable[[Path], None]


def bring_up_to_date(
    parts: list[Part], out: Path, check: Callable[[dict[str, Path]], object]
) -> dict[str, Path]:
    """Build what changed; part name -> folder. `check` sees all folders as they would be and may refuse:
    then, as after any error, every part stays as it was."""
    places = {part.name: out / part.place for part in parts}
    with _alone(out):
        fresh = [part for part in parts if not _is_current(part, out)]
        _refuse_others(fresh, out)
        staged = {part.name: places[part.name].with_name(f".{part.name}.new") for part in fresh}
        try:
            for part in fresh:
                _stage(part, staged[part.name])
            check({**places, **staged})
            for part in fresh:
                _stamp(
                    part, out
                ).touch()  # says whose the place is, even to the next build after a killed one
                _swap(staged[part.name], places[part.name])
                _stamp(part, out).write_text(
                    f"{part.inputs} {_shape(places[part.name])}\n", "utf-8"
                )
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


def copy(files: Iterable[Path], root: Path, folder: Path) -> None:
    """Copy `files`, which lie under `root`, to the same places under `folder`."""
    for file in files:
        goal = folder / file.relative_to(root)
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, goal)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """One build at a time in `out`."""
    (out / "stamps").mkdir(parents=True, exist_ok=True)
    with (out / "stamps" / "lock").open("w") as lock:
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


def _swap(new: Path, place: Path) -> None:
    old = new.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _refuse_others(parts: list[Part], out: Path) -> None:
    """A folder of that name that no build here made is somebody else's."""
    for part in parts:
        place = out / part.place
        if not _stamp(part, out).exists() and (
            place.is_file() or (place.is_dir() and any(place.iterdir()))
        ):
            raise FileExistsError(f"{place} was not built here, and would be replaced.")


def _stamp(part: Part, out: Path) -> Path:
    return out / "stamps" / part.name


def _is_current(part: Part, out: Path) -> bool:
    stamp, place = _stamp(part, out), out / part.place
    if not stamp.is_file() or not place.is_dir():
        return False
    return stamp.read_text("utf-8") == f"{part.inputs} {_shape(place)}\n"


def _shape(folder: Path) -> str:
    """A digest of every path's size, mode and time: shows a change by hand without reading 200 MB."""
    lines = []
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        size = 0 if path.is_dir() else status.st_size
        lines.append(f"{path.relative_to(folder)} {size} {status.st_mode} {status.st_mtime_ns}")
    return digest("\n".join(lines))
