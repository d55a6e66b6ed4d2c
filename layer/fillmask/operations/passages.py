"""Encoded texts, cut into windows that the model can take, and the queries made of them."""

from collections.abc import Sequence
from typing import NamedTuple

from fillmask.model.contract import Query
from fillmask.model.manifest import Manifest
from fillmask.model.text import Encoded, TextCodec
from fillmask.model.windows import Slot, Window, plan


class Passage(NamedTuple):
    """An encoded text and the windows that answer its masks.

    The slots of the windows are indices of `text.masks`, in order.
    """

    text: Encoded
    windows: list[Window]

    def window_of(self, mask: int) -> Window:
        """The window that answers a mask, by its index."""
        return next(window for window in self.windows if mask in window.slots)


class Cutter:
    """Cuts texts for one model."""

    def __init__(self, codec: TextCodec, manifest: Manifest) -> None:
        self._codec = codec
        self._special = manifest.special
        self._capacity = manifest.capacity

    def passage(self, text: Encoded) -> Passage:
        """The text with the windows around its masks."""
        return Passage(text, self._windows(text.ids, [(mask, mask) for mask in text.masks]))

    def query(self, ids: Sequence[int], window: Window, positions: Sequence[int]) -> Query:
        """What is asked of a window of `ids`; `positions` are indices into `ids`."""
        framed = self._special.enclose(ids[window.start : window.end])
        return Query(framed, [position - window.start + 1 for position in positions])

    def slot_query(self, text: Encoded, mask: int, length: int, filled: Sequence[int]) -> Query:
        """What follows `filled` in a slot of `length` tokens that stands in one mask's place.

        The rest of the slot is masked.
        """
        first = text.masks[mask]
        masked = [self._special.mask] * (length - len(filled))
        ids = [*text.ids[:first], *filled, *masked, *text.ids[first + 1 :]]

        (window,) = self._windows(ids, [(first, first + length - 1)])
        return self.query(ids, window, [first + len(filled)])

    def _windows(self, ids: Sequence[int], slots: Sequence[Slot]) -> list[Window]:
        # The ends of the sentences are only looked up where a text has to be cut.
        ends = self._codec.sentence_ends(ids) if len(ids) > self._capacity else []
        return plan(len(ids), slots, self._capacity, ends)
