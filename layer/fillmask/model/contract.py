"""The seam to the model: the engine the service asks, and the names of the graph's ins and outs.

Import-light on purpose: what runs onnxruntime is onnx_engine.py, loaded on a thread of its own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fillmask.model.manifest import Manifest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Inputs of the encoder, int64 but where said. The T tokens of B texts lie packed in rows, without
# padding; attention alone sees them as B x L cells, L being the longest text. Up to Q positions of
# a text are asked for, P in all. The strings stand in models that are already built.
INPUT_IDS: Final = "ids"  # [T]
POSITIONS: Final = "places"  # [T] of the tokens inside their window
SPREAD: Final = "spread"  # [B, L] the packed row of each cell; any row where it is padding
ATTENTION_MASK: Final = "keys"  # [B, L] int32: 1 where the cell holds a token, 0 for padding
COLLECT: Final = "collect"  # [T] the cell, counted through B x L, of each packed row
QUERY_ROWS: Final = "queries"  # [B, Q] the packed row of each position asked for; any where padded
WANTED: Final = "wanted"  # [P] those of the B x Q that are no padding

# Inputs of the masked-LM head, which a model for embeddings alone does not have.
PREDICT: Final = "predict"  # [M] which of the P positions go through the head; M is even
SUBWORDS: Final = "subwords"  # [] 0: candidates are whole words only; 1: continuation pieces too
TOP_K: Final = "k"  # [1] candidates per position
TARGETS: Final = "targets"  # [G] token ids whose scores are wanted at each of the M positions

# Outputs. Scores are log-probabilities over the whole vocabulary.
HIDDEN: Final = "hidden"  # [P, hidden] float32
SCORES: Final = "scores"  # [M, k] float32, highest first
TOKENS: Final = "tokens"  # [M, k] the candidates' ids
TARGET_SCORES: Final = "target_scores"  # [M, G] float32
HEAD_OUTPUTS: Final = (SCORES, TOKENS, TARGET_SCORES)


class Query(NamedTuple):
    """Token ids of one window, [CLS] and [SEP] included, and the positions that are asked for."""

    ids: Sequence[int]
    positions: Sequence[int]


class Prediction(NamedTuple):
    """The answer for one position: candidates, likeliest first, and the scores of the targets.

    Scores are log-probabilities.
    """

    tokens: list[int]
    scores: list[float]
    targets: list[float]


class Engine(Protocol):
    """What the service needs of a model.

    The answer for a query does not depend on the queries it is computed with.
    """

    @property
    def manifest(self) -> Manifest:
        """The model's description."""

    def predict(
        self,
        queries: Sequence[Query],
        k: int,
        subwords: bool,
        targets: Sequence[int],
    ) -> list[list[Prediction]]:
        """For each query and each of its positions, the k likeliest tokens and the target scores.

        With `subwords`, continuation pieces may be candidates too.

        Raises EngineUnavailable or DeadlineExceeded.
        """

    def hidden(self, queries: Sequence[Query]) -> list["npt.NDArray[np.float32]"]:
        """For each query the last hidden states [positions, hidden]; raises as `predict` does."""
