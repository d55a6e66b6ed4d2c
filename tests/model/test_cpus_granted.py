"""Threads follow what is really granted."""

from pathlib import Path

import pytest

from fillmask.model import cpus


@pytest.mark.parametrize(
    ("files", "memory_mb", "expected"),
    [
        ({}, 0, None),
        ({}, 512, 512 / 1769),
        ({"cpu.max": "50000 100000\n"}, 0, 0.5),
        ({"cpu.max": "max 100000\n"}, 0, None),
        ({"cpu/cpu.cfs_quota_us": "29000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0, 0.29),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0, None),
        ({"cpu.max": "50000 100000\n"}, 256, 256 / 1769),
        ({"cpu.max": "nonsense"}, 0, None),
    ],
)
def test_the_least_of_affinity_memory_and_quota(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    memory_mb: int,
    expected: float | None,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert cpus.granted(memory_mb, tmp_path) == pytest.approx(expected or 3)


@pytest.mark.parametrize(
    ("share", "threads"), [(0.29, 1), (0.58, 1), (1, 1), (1.7, 2), (2, 2), (5.8, 6)]
)
def test_a_thread_for_every_cpu_that_is_nearly_whole(share: float, threads: int) -> None:
    assert cpus.threads(share) == threads
