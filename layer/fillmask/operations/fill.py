"""The fill-mask operation on token ids: each mask on its own, targets, and whole fillings."""

from collections.abc import Mapping, Sequence
from math import exp

from fillmask import limits
from fillmask.errors import InvalidRequest
from fillmask.model.contract import Engine, Prediction
from fillmask.model.manifest import FRAME_TOKENS
from fillmask.model.text import Encoded, TextCodec
from fillmask.model.windows import Window
from fillmask.operations import pieces
from fillmask.operations.answers import (
    Candidate,
    Extent,
    FilledMask,
    FilledText,
    Filling,
    ScoredTarget,
)
from fillmask.operations.passages import Cutter, Passage
from fillmask.operations.pieces import Target, Targets, Trial
from fillmask.requests.native import Options


class Filler:
    """Fills masks with one engine and its codec."""

    def __init__(self, engine: Engine, codec: TextCodec) -> None:
        self._engine, self._codec = engine, codec
        self._unknown = engine.manifest.special.unknown
        self._cutter = Cutter(codec, engine.manifest)

    def fill(self, texts: Sequence[Encoded], options: Options) -> list[FilledText]:
        """One answer per text; every text has a mask.

        Raises TooLarge or InvalidRequest before anything is computed.
        """
        targets = pieces.split(options.targets, self._codec, options.lowercase, self._unknown)
        _check_cost(texts, targets, options)
        _check_joint_targets(targets, options)

        passages = [self._cutter.passage(text) for text in texts]
        predictions = self._predict(passages, options, targets)
        scores = pieces.score(self._engine, self._cutter, texts, targets.longer)
        scores |= _single_scores(predictions, targets)
        fillings = self._fillings(passages, options, targets)

        return [
            FilledText(
                tokens=len(passage.text.ids) + FRAME_TOKENS,
                masks=[
                    _filled_mask(
                        passage,
                        mask,
                        prediction,
                        [_scored(target, scores, index, mask) for target in targets.each],
                    )
                    for mask, prediction in enumerate(predictions[index])
                ],
                fillings=fillings[index],
                unknown=passage.text.unknown,
            )
            for index, passage in enumerate(passages)
        ]

    def _predict(
        self, passages: Sequence[Passage], options: Options, targets: Targets
    ) -> list[list[Prediction]]:
        """For each text and each of its masks, what the model says of it."""
        queries = [
            self._cutter.query(
                passage.text.ids, window, [passage.text.masks[mask] for mask in window.slots]
            )
            for passage in passages
            for window in passage.windows
        ]

        # With targets, nobody sees the candidates.
        k = 1 if options.targets else options.top_k
        answers = iter(self._engine.predict(queries, k, options.include_subwords, targets.single))

        return [
            [prediction for _ in passage.windows for prediction in next(answers)]
            for passage in passages
        ]

    def _fillings(
        self, passages: Sequence[Passage], options: Options, targets: Targets
    ) -> Sequence[list[Filling] | None]:
        if options.mode != "joint":
            return [None] * len(passages)

        from fillmask.operations import joint  # noqa: PLC0415  (for this mode alone)

        return joint.search(self._engine, self._cutter, passages, options, targets.single)


def _check_cost(texts: Sequence[Encoded], targets: Targets, options: Options) -> None:
    """Raises TooLarge for too many masks, or too many passes of the model beyond the first."""
    masks = sum(len(text.masks) for text in texts)
    limits.check("total_masks", masks, "masks of the request")

    passes = masks * sum(len(target.pieces) for target in targets.each if len(target.pieces) > 1)

    if options.mode == "joint":
        for index, text in enumerate(texts):
            limits.check("joint_masks", len(text.masks), "masks in joint mode", index=index)
        passes += masks * options.beam_width

    limits.check(
        "passes", passes, "passes of the model for targets of several pieces and joint fillings"
    )


def _check_joint_targets(targets: Targets, options: Options) -> None:
    if options.mode == "joint" and targets.each and not targets.single:
        raise InvalidRequest.of(
            "targets",
            "must have one that is a single token in joint mode: whole fillings are made of those",
            "The targets",
        )


def _single_scores(
    predictions: Sequence[Sequence[Prediction]], targets: Targets
) -> dict[Trial, float]:
    """The log-probability of each target that is one token, in the place of each mask."""
    return {
        Trial(index, mask, (token,)): score
        for index, masks in enumerate(predictions)
        for mask, prediction in enumerate(masks)
        for token, score in zip(targets.single, prediction.targets, strict=True)
    }


def _scored(target: Target, scores: Mapping[Trial, float], text: int, mask: int) -> ScoredTarget:
    if target.reason:
        return ScoredTarget([], None, target.reason)
    return ScoredTarget(list(target.pieces), exp(scores[Trial(text, mask, target.pieces)]))


def _filled_mask(
    passage: Passage, mask: int, prediction: Prediction, targets: list[ScoredTarget]
) -> FilledMask:
    text = passage.text
    ranking = zip(prediction.tokens, prediction.scores, strict=True)

    return FilledMask(
        span=Extent(*text.spans[text.masks[mask]]),
        window=_extent(text, passage.window_of(mask)),
        candidates=[] if targets else [Candidate(token, exp(score)) for token, score in ranking],
        targets=targets,
    )


def _extent(text: Encoded, window: Window) -> Extent | None:
    """Where a window lies in the text; None when it is the whole text."""
    if window.end - window.start == len(text.ids):
        return None
    return Extent(text.spans[window.start][0], text.spans[window.end - 1][1])
