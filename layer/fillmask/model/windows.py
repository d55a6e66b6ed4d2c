"""Which part of a text longer than the model's limit answers which mask.

A window is a run of tokens [start, end) of at most `capacity`. Masks share one while they leave each other
half of it as context; it lies around them evenly and is cut at sentence ends where one is near. The number
of windows, so the cost, grows with masks that lie apart, never with the length of the text.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """A run of tokens and the slots (first and last token index of a mask's slot, inclusive) it answers."""

    start: int
    end: int
    slots: list[int]  # indices into the list of slots that `plan` was given


def plan(
    length: int, slots: Sequence[tuple[int, int]], capacity: int, ends: Sequence[int]
) -> list[Window]:
    """Windows over `length` tokens for sorted `slots`; `ends` are sorted indices just after a sentence end."""
    if length <= capacity:
        return [Window(0, length, list(range(len(slots))))]
    windows: list[Window] = []
    group: list[int] = []
    for index, (_, last) in enumerate(slots):
        if group and last + 1 - slots[group[0]][0] > capacity // 2:
            windows.append(_around(length, slots, group, capacity, ends))
            group = []
        group.append(index)
    if group:
        windows.append(_around(length, slots, group, capacity, ends))
    return windows


def _around(
    length: int,
    slots: Sequence[tuple[int, int]],
    group: list[int],
    capacity: int,
    ends: Sequence[int],
) -> Window:
    first, last = slots[group[0]][0], slots[group[-1]][1]
    slack = (
        capacity // 8
    )  # context given up, at most and on each side, to begin or end with a whole sentence
    start = min(max(0, (first + last + 1 - capacity) // 2), length - capacity)
    if start > 0:
        start = next((end for end in ends if start <= end <= min(start + slack, first)), start)
    end = min(length, start + capacity)
    if end < length:
        end = next((e for e in reversed(ends) if max(end - slack, last + 1) <= e <= end), end)
    return Window(start, end, group)


def chunks(length: int, capacity: int, ends: Sequence[int]) -> list[tuple[int, int]]:
    """The whole of `length` tokens as consecutive runs of at most `capacity`, cut at sentence ends where near."""
    runs, start = [], 0
    while length - start > capacity:
        end = start + capacity
        end = next((e for e in reversed(ends) if end - capacity // 8 <= e <= end), end)
        runs.append((start, end))
        start = end
    return [*runs, (start, length)]
