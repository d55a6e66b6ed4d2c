"""Folders built from inputs: only when needed, whole or not at all, the same each time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.layers import parts
from builder.layers.parts import Part, bring_up_to_date, digest, package_digest


def plant(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(path, "utf-8")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def part(name: str, inputs: str, fill: Callable[[Path], None]) -> Part:
    return Part(name, f"layers/{name}", digest(inputs), fill)


def write(text: str) -> Callable[[Path], None]:
    return lambda folder: plant(folder, f"sub/{text}")


def never(folder: Path) -> None:
    raise AssertionError("built again")


def refuse(folders: object) -> None:
    raise ValueError("too big")


def nothing(folders: object) -> None:
    """A check that is content."""


def test_only_what_changed_is_built_again(tmp_path: Path) -> None:
    first = bring_up_to_date(
        [part("a", "1", write("a1")), part("b", "1", write("b1"))], tmp_path, nothing
    )
    assert first == {"a": tmp_path / "layers/a", "b": tmp_path / "layers/b"}
    bring_up_to_date([part("a", "1", never), part("b", "2", write("b2"))], tmp_path, nothing)
    assert names(tmp_path / "layers") == {"a/sub/a1", "b/sub/b2"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "sub/a1").write_text("A1", "utf-8"),
        lambda folder: (folder / "sub/a1").unlink(),
        lambda folder: (folder / "stray").touch(),
        lambda folder: (folder / "sub/a1").chmod(0o600),
    ],
)
def test_a_folder_changed_by_hand_is_built_again(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    wanted = [part("a", "1", write("a1"))]
    folder = bring_up_to_date(wanted, tmp_path, nothing)["a"]
    before = [
        (path, path.stat().st_mode, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))
    ]
    spoil(folder)
    bring_up_to_date(wanted, tmp_path, nothing)
    after = [
        (path, path.stat().st_mode, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))
    ]
    assert after == before
    assert (folder / "sub/a1").read_text("utf-8") == "sub/a1"


@pytest.mark.parametrize(
    ("fill", "check", "error"),
    [
        (never, nothing, AssertionError),
        (write("a2"), refuse, ValueError),
    ],
)
def test_a_failed_build_leaves_everything_as_it_was(
    tmp_path: Path,
    fill: Callable[[Path], None],
    check: Callable[[object], None],
    error: type[Exception],
) -> None:
    bring_up_to_date([part("a", "1", write("a1")), part("b", "1", write("b1"))], tmp_path, nothing)
    with pytest.raises(error):
        bring_up_to_date([part("b", "2", write("b2")), part("a", "2", fill)], tmp_path, check)
    assert names(tmp_path / "layers") == {"a/sub/a1", "b/sub/b1"}
    bring_up_to_date([part("a", "1", never), part("b", "1", never)], tmp_path, nothing)


def test_a_folder_that_was_not_built_here_is_not_replaced(tmp_path: Path) -> None:
    plant(tmp_path, "layers/a/precious")
    with pytest.raises(
        FileExistsError, match=r"layers/a was not built here, and would be replaced\."
    ):
        bring_up_to_date([part("b", "1", never), part("a", "1", never)], tmp_path, nothing)
    assert names(tmp_path / "layers") == {"a/precious"}
    (tmp_path / "layers/a/precious").unlink()
    bring_up_to_date([part("a", "1", write("a1"))], tmp_path, nothing)
    assert names(tmp_path / "layers") == {"a/sub/a1"}


def test_a_build_that_was_killed_is_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(parts, "_shape", killed)
        bring_up_to_date([part("a", "1", write("a1"))], tmp_path, nothing)
    assert names(tmp_path / "layers") == {"a/sub/a1"}
    bring_up_to_date([part("a", "1", write("a2"))], tmp_path, nothing)
    assert names(tmp_path / "layers") == {"a/sub/a2"}


def test_a_new_or_changed_or_moved_module_of_a_package_counts(tmp_path: Path) -> None:
    package = tmp_path / "package"
    plant(package, "__init__.py")
    plant(package, "inner/one.py")
    seen = [package_digest(package)]

    plant(package, "notes.txt")
    plant(package, "__pycache__/one.pyc")
    assert package_digest(package) == seen[0]

    plant(package, "inner/two.py")
    seen.append(package_digest(package))
    (package / "inner" / "two.py").rename(package / "two.py")
    seen.append(package_digest(package))
    (package / "two.py").write_text("changed", "utf-8")
    seen.append(package_digest(package))
    assert len(set(seen)) == 4
