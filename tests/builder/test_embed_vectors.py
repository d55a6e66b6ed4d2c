"""The vectors of encoders for embeddings, against numpy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from fillmask.model import manifest
from fillmask.model.text import TextCodec
from support import checkpoints
from support.bert_numpy import hidden_states, unit
from support.checkpoints import SMALL
from support.embed_models import CLS, MEAN, built, embedder, exact_embedder

pytestmark = pytest.mark.usefixtures("few_sentences")

States = npt.NDArray[np.float64]  # [tokens, hidden]

MAX_TOKENS: Final = 24
SHORT: Final = "a丁七!"
LONG: Final = "abc丁七不丏丑专!" * 11  # of 10 tokens: windows of 22 end with the second sentence
POOLS: Final[dict[str, Callable[[States], States]]] = {
    "cls": lambda states: states[0],
    "mean": lambda states: states.mean(0),
    "text": lambda states: states[1:-1].mean(0),
}


def windows(model: Path, source: Path, text: str, max_tokens: int) -> list[States]:
    """Hidden states of each window by numpy; cuts are after sentence ends where one is near."""
    described = manifest.read(model)
    codec = TextCodec.load(model, described)
    ids = codec.encode(text, described.lowercase).ids
    (end,) = codec.encode("!", described.lowercase).ids

    special, tensors = described.special, load_file(source / "model.safetensors")
    states = []
    while ids:
        cut = _cut(ids, end, max_tokens - 2)
        window = special.enclose(ids[:cut])
        states.append(hidden_states(tensors, window, heads=SMALL["heads"]))
        ids = ids[cut:]
    return states


def _cut(ids: list[int], end: int, most: int) -> int:
    """How many tokens the first window takes."""
    if len(ids) <= most:
        return len(ids)
    near = [count for count in range(most - most // 8, most + 1) if ids[count - 1] == end]
    return near[-1] if near else most


@pytest.mark.parametrize(
    ("config", "pool"),
    [
        (CLS, "cls"),
        (MEAN, "mean"),
        ({"embedding_dimension": 64}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        (None, "text"),
    ],
)
def test_vectors_are_what_numpy_makes_of_the_hidden_states(
    tmp_path: Path, config: dict[str, Any] | None, pool: str
) -> None:
    source = checkpoints.sentence_transformer(
        tmp_path / "source", config or {}, limits={"max_seq_length": MAX_TOKENS}, **SMALL
    )
    if config is None:
        (source / "modules.json").unlink()
    model = built(source)

    texts = [SHORT, LONG]
    exact = exact_embedder(model, source).embed(texts, texts)
    rounded = embedder(model).embed(texts, texts)
    for text, answer, int8 in zip(texts, exact, rounded, strict=True):
        states = windows(model, source, text, MAX_TOKENS)
        weighted = [POOLS[pool](part) * (len(part) - 2) for part in states]
        expected = unit(np.sum(weighted, axis=0))

        assert answer.windows == len(states) == (1 if text == SHORT else 6)
        assert answer.tokens == sum(map(len, states))
        assert np.dot(answer.vector, expected) >= 1 - 1e-6
        assert np.dot(int8.vector, expected) >= 0.995
        assert abs(np.linalg.norm(int8.vector) - 1) <= 1e-6


def test_a_vocabulary_without_a_mask_will_do(tmp_path: Path) -> None:
    tokens = [token for token in checkpoints.vocabulary(60) if token != "[MASK]"]
    shape = SMALL | {"tokens": tokens}
    source = checkpoints.sentence_transformer(tmp_path / "source", MEAN, **shape)
    model = built(source)
    assert manifest.read(model).content["mask_token"] is None

    text = "[MASK]"  # like any other
    (answer,) = exact_embedder(model, source).embed([text], ["text"])
    (states,) = windows(model, source, text, SMALL["positions"])
    assert len(states) > 3
    assert np.dot(answer.vector, unit(states.mean(0))) >= 1 - 1e-6
