"""The seam to the model: what the service asks, in token ids and positions, and what it gets.

The answer for a query does not depend on the others it is computed with. Import-light on purpose: the form
that runs onnxruntime is onnx_engine.py, which loads on a thread of its own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fillmask.model.manifest import Manifest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Query(NamedTuple):
    """Token ids of one window, [CLS] and [SEP] included, and the positions whose answer is wanted."""

    ids: Sequence[int]
    positions: Sequence[int]


class Prediction(NamedTuple):
    """One position: candidate ids and their log-probabilities, highest first; those of the asked targets."""

    tokens: list[int]
    scores: list[float]
    targets: list[float]


class Engine(Protocol):
    """What the service needs of a model."""

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
        """For each query, for each of its positions: the k likeliest tokens and the targets' scores."""

    def hidden(self, queries: Sequence[Query]) -> list["npt.NDArray[np.float32]"]:
        """For each query the last hidden states [positions, hidden]."""
