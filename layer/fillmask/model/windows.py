"""Which part of a text that is longer than the model's limit answers which mask.

A window is a run of tokens [start, end) of at most `capacity`. Masks share a window while they
leave each other half of it as context. The context lies around them evenly, and is cut at sentence
ends where one is near. The number of windows, and so the cost, grows with the number of masks that
lie apart, never with the length of the text.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

Slot = tuple[int, int]  # first and last token of what stands for one mask, both inclusive

# An eighth of a window, on each side, may be given up to begin or end with a whole sentence.
SLACK_DIVISOR: Final = 8


class Window(NamedTuple):
    """A run of tokens [start, end) and the slots it answers."""

    start: int
    end: int
    slots: list[int]  # indices into the slots that `plan` was given


def plan(length: int, slots: Sequence[Slot], capacity: int, ends: Sequence[int]) -> list[Window]:
    """Windows over `length` tokens that answer every slot once.

    `slots` are sorted; `ends` are the sorted indices just after a token that ends a sentence.
    """
    if length <= capacity:
        return [Window(0, length, list(range(len(slots))))]

    groups: list[list[int]] = []
    for index, (_, last) in enumerate(slots):
        if not groups or _extent(slots, groups[-1], last) > capacity // 2:
            groups.append([])
        groups[-1].append(index)

    return [_around(length, slots, group, capacity, ends) for group in groups]


def chunks(length: int, capacity: int, ends: Sequence[int]) -> list[tuple[int, int]]:
    """All of `length` tokens as consecutive runs [start, end) of at most `capacity` tokens.

    A run ends with a sentence where one of `ends` (see `plan`) is near.
    """
    runs: list[tuple[int, int]] = []
    start = 0
    while length - start > capacity:
        end = start + capacity
        end = _last(ends, end - capacity // SLACK_DIVISOR, end, otherwise=end)
        runs.append((start, end))
        start = end

    return [*runs, (start, length)]


def _extent(slots: Sequence[Slot], group: list[int], last: int) -> int:
    """Tokens from the first slot of a group to the token `last`."""
    first, _ = slots[group[0]]
    return last + 1 - first


def _around(
    length: int,
    slots: Sequence[Slot],
    group: list[int],
    capacity: int,
    ends: Sequence[int],
) -> Window:
    """The window around a group of neighbouring slots."""
    first, last = slots[group[0]][0], slots[group[-1]][1]
    slack = capacity // SLACK_DIVISOR

    centred = (first + last + 1 - capacity) // 2
    start = min(max(0, centred), length - capacity)
    if start > 0:
        start = _first(ends, start, min(start + slack, first), otherwise=start)

    end = min(length, start + capacity)
    if end < length:
        end = _last(ends, max(end - slack, last + 1), end, otherwise=end)

    return Window(start, end, group)


def _first(ends: Sequence[int], low: int, high: int, *, otherwise: int) -> int:
    """The first of the sentence ends within [low, high]."""
    return next((end for end in ends if low <= end <= high), otherwise)


def _last(ends: Sequence[int], low: int, high: int, *, otherwise: int) -> int:
    """The last of the sentence ends within [low, high]."""
    return next((end for end in reversed(ends) if low <= end <= high), otherwise)
