"""What is remembered under which key: the key itself, and what is computed, cached and read."""

import json
from collections.abc import Callable, Sequence

import pytest

from fillmask.cache.memory import MemoryCache
from fillmask.cache.remember import Option, ResultCache


class Lengths:
    """Computes the length of texts, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.asked.append(list(texts))
        return [len(text) for text in texts]


class Recording(MemoryCache):
    """A cache that tells its keys."""

    def __init__(self) -> None:
        super().__init__(10**6, 60)
        self.keys: list[str] = []

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        self.keys += keys
        return super().get_many(keys)


def ask(
    cache: MemoryCache,
    texts: Sequence[str],
    compute: Callable[[Sequence[str]], Sequence[int]],
    question: Sequence[Option] = ("length",),
    digest: str = "sha256:0",
) -> tuple[dict[str, int], frozenset[str]]:
    return ResultCache(cache, digest).results(
        question,
        texts,
        compute,
        pack=lambda number: json.dumps(number).encode(),
        unpack=lambda _, value: int(json.loads(value)),
    )


def test_equal_texts_are_computed_once_and_cached_ones_not_at_all() -> None:
    cache, lengths = MemoryCache(10**6, 60), Lengths()

    first = ask(cache, ["好", "很好", "好"], lengths)
    assert first == ({"好": 1, "很好": 2}, frozenset())

    second = ask(cache, ["很好", "非常好", "很好"], lengths)
    assert second == ({"很好": 2, "非常好": 3}, frozenset({"很好"}))

    assert ask(cache, ["好"], lengths) == ({"好": 1}, frozenset({"好"}))
    assert lengths.asked == [["好", "很好"], ["非常好"]]


@pytest.mark.parametrize("value", [b"", b"{", b"null", b"[]", b"\xff", b"[" * 390_000])
def test_a_value_that_does_not_read_back_is_computed_and_written_anew(value: bytes) -> None:
    cache, lengths = Recording(), Lengths()
    ask(cache, ["好"], lengths)
    (key,) = cache.keys
    cache.put_many({key: value})

    assert ask(cache, ["好"], lengths) == ({"好": 1}, frozenset())
    assert ask(cache, ["好"], lengths) == ({"好": 1}, frozenset({"好"}))


def test_an_error_leaves_nothing_behind() -> None:
    def fail(texts: Sequence[str]) -> list[int]:
        raise RuntimeError

    cache, lengths = MemoryCache(10**6, 60), Lengths()
    with pytest.raises(RuntimeError):
        ask(cache, ["好"], fail)

    assert ask(cache, ["好"], lengths) == ({"好": 1}, frozenset())


def test_the_key_is_a_digest_of_all_that_decides_the_result() -> None:
    cache, lengths = Recording(), Lengths()
    ask(cache, ["好[MASK]"], lengths, ("length", 5, ("天", "气"), "joint", True, False))

    # SHA-256 of [1, "sha256:0", "length", 5, ["\\u5929", "\\u6c14"], "joint", true, false, ...]
    assert cache.keys == ["60f5c579687df3ef881466b4d34f7a0c4ad9b0025662b60031c25aa934b8f44d"]


def test_another_model_operation_option_or_text_has_another_key() -> None:
    cache, lengths = Recording(), Lengths()
    for digest, question, text in (
        ("sha256:0", ("length", 5, ("天",)), "好"),
        ("sha256:1", ("length", 5, ("天",)), "好"),
        ("sha256:0", ("width", 5, ("天",)), "好"),
        ("sha256:0", ("length", 6, ("天",)), "好"),
        ("sha256:0", ("length", 5, ("天", "")), "好"),
        ("sha256:0", ("length", 5, ("天",)), "好 "),
    ):
        _, cached = ask(cache, [text], lengths, question, digest)
        assert cached == frozenset()

    assert len(set(cache.keys)) == 6
