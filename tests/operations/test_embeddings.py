"""Embeddings and similarity on the embedded model: one vector per text, whatever it comes with."""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fillmask.errors import InvalidRequest, TooLarge
from fillmask.operations.service import Service
from support import http_service

TEXTS = [
    f"{'今天天气很好我们去公园散步吧' * (index % 9)}第{index}句，{'A' * (index % 5)}完。"
    for index in range(64)
]
LONG = "".join(
    f"第{index}天，我们走了很远的路。" for index in range(120)
)  # some 1,500 tokens of 256


def embed(texts: str | list[str], service: Service | None = None, **options: Any) -> dict[str, Any]:
    return (service or http_service.service()).answer("embed", {"input": texts} | options)


def vectors(answer: dict[str, Any]) -> npt.NDArray[np.float64]:
    return np.array([row["embedding"] for row in answer["data"]])


@pytest.fixture(scope="module")
def batch() -> npt.NDArray[np.float64]:
    """The vectors of all texts from one request."""
    return vectors(embed(TEXTS))


def test_a_text_alone_has_the_vector_it_has_in_a_batch(batch: npt.NDArray[np.float64]) -> None:
    alone = np.concatenate([vectors(embed(text)) for text in TEXTS])
    assert np.abs(alone - batch).max() <= 1e-6
    turned = vectors(embed(TEXTS[::-1]))[::-1]
    assert np.abs(turned - batch).max() <= 1e-6


def test_vectors_have_length_1_and_differ(batch: npt.NDArray[np.float64]) -> None:
    assert batch.shape == (64, 256)
    assert np.abs(np.linalg.norm(batch, axis=1) - 1).max() <= 1e-6
    assert (np.triu(batch @ batch.T, 1) < 1 - 1e-4).all()


def test_base64_holds_the_floats_bit_for_bit(batch: npt.NDArray[np.float64]) -> None:
    rows = embed(TEXTS, encoding_format="base64")["data"]
    packed = np.array(
        [np.frombuffer(base64.b64decode(row["embedding"]), dtype="<f4") for row in rows]
    )
    assert np.array_equal(packed, batch.astype("<f4"))
    assert np.array_equal(packed.astype(np.float64), batch)


@pytest.mark.parametrize("dimensions", [1, 2, 64, 255, 256])
def test_fewer_dimensions_are_the_leading_ones_normalised_again(
    dimensions: int, batch: npt.NDArray[np.float64]
) -> None:
    narrow = vectors(embed(TEXTS[:8], dimensions=dimensions))
    leading = batch[:8, :dimensions]
    assert narrow.shape == (8, dimensions)
    assert np.abs(narrow - leading / np.linalg.norm(leading, axis=1, keepdims=True)).max() <= 1e-6


def test_256_inputs_are_answered_in_order_and_257_are_too_many() -> None:
    rows = embed([f"第{index}句" for index in range(256)])["data"]
    assert [row["index"] for row in rows] == list(range(256))
    assert rows[200]["embedding"] == pytest.approx(
        embed("第200句")["data"][0]["embedding"], abs=1e-6
    )
    with pytest.raises(TooLarge) as caught:
        embed(["你好"] * 257)
    assert caught.value.extra == {"limit": "inputs", "maximum": 256, "size": 257}


def test_a_long_text_is_pooled_from_windows_by_their_tokens() -> None:
    answer = embed(LONG)
    assert answer["usage"]["windows"] > 1
    assert answer["usage"]["prompt_tokens"] > len(LONG)
    assert np.linalg.norm(vectors(answer)) == pytest.approx(1, abs=1e-6)
    changed_at_the_end = vectors(embed(LONG[:-20] + "完全是另外一个结尾，关于数学和音乐。"))
    assert 1e-5 < np.abs(vectors(answer) - changed_at_the_end).max() < 0.2


def test_usage_counts_what_the_model_read() -> None:
    assert embed(["你好", "你好", "今天"])["usage"] == {
        "prompt_tokens": 12,
        "total_tokens": 12,
        "windows": 3,
        "unknown_tokens": 0,
    }


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        ("", ["input"]),
        (["你好", "", "再见"], ["input[1]"]),
        (["你好", "你好", " ", "\u200b"], ["input[2]", "input[3]"]),
    ],
)
def test_a_text_with_nothing_to_embed_is_named(texts: Any, fields: list[str]) -> None:
    service = http_service.remembering()
    embed("你好", service)  # a place in the request, not among what the cache lacks
    with pytest.raises(InvalidRequest) as caught:
        embed(texts, service)
    assert [row["field"] for row in caught.value.extra["errors"]] == fields


def test_a_cached_vector_is_the_computed_one() -> None:
    service = http_service.remembering()
    texts = [*TEXTS[:5], LONG]
    first = embed(texts, service)
    assert embed(texts, service) == first
    assert embed(texts, service, dimensions=7) == embed(texts, dimensions=7)


def test_similarity_of_texts_with_each_other_is_symmetric() -> None:
    matrix = np.array(http_service.service().answer("similarity", {"texts": TEXTS[:12]})["matrix"])
    assert matrix.shape == (12, 12)
    assert np.array_equal(matrix, matrix.T)
    assert np.abs(np.diag(matrix) - 1).max() <= 1e-6
    assert (np.abs(matrix) <= 1).all()


def test_similarity_with_others_is_the_cosine_of_the_embeddings(
    batch: npt.NDArray[np.float64],
) -> None:
    answer = http_service.service().answer(
        "similarity", {"texts": TEXTS[:3], "against": TEXTS[3:8]}
    )
    assert np.abs(np.array(answer["matrix"]) - batch[:3] @ batch[3:8].T).max() <= 1e-6
