"""The engine: a query has the same answer in every company, and an error is one sentence."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from builder.model import verify
from fillmask.errors import EngineUnavailable
from fillmask.model import onnx_engine
from fillmask.model.contract import (
    Prediction,
    Query,
)
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from support.paths import MODEL


@pytest.fixture(scope="module")
def queries(engine: OnnxEngine, codec: TextCodec) -> list[Query]:
    """Sentences of every length, with one to five masks, and one near the model's limit."""
    chance = random.Random(7)
    special = engine.manifest.special
    made = []
    sentences = verify.sentences()[:70]
    for sentence in [*sentences, "".join(sentences)[:250]]:
        ids = codec.encode(sentence, lowercase=True).ids[:254]
        masks = sorted(chance.sample(range(len(ids)), min(len(ids), chance.randint(1, 5))))
        for mask in masks:
            ids[mask] = special.mask
        made.append(Query(special.enclose(ids), [mask + 1 for mask in masks]))
    return made


def predict(engine: OnnxEngine, batch: Sequence[Query]) -> list[list[Prediction]]:
    return engine.predict(batch, 10, False, [100, 200, 300])


def test_alone_and_in_batches_of_every_size_and_place(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    alone = [predict(engine, [query])[0] for query in queries]
    for size in (2, 8, 32, len(queries)):
        for start in range(0, len(queries), size):
            batch = queries[start : start + size]
            assert predict(engine, batch) == alone[start : start + size]
            assert predict(engine, batch[::-1]) == alone[start : start + size][::-1]


def test_beside_a_long_one(engine: OnnxEngine, queries: list[Query]) -> None:
    short, long = queries[0], queries[-1]
    assert len(long.ids) > 5 * len(short.ids)
    assert (
        predict(engine, [short, long])[0]
        == predict(engine, [long, short])[1]
        == predict(engine, [short])[0]
    )


def test_one_position_beside_texts_of_every_length(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    for query in queries[:12]:
        for position in query.positions:
            one = Query(query.ids, [position])
            alone = engine.hidden([one])[0]
            for other in queries[12:60:3]:
                assert np.array_equal(engine.hidden([one, Query(other.ids, [1])])[0], alone)


def test_fewer_candidates_are_the_beginning_of_more(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    few, many = (engine.predict(queries[:5], k, False, []) for k in (3, 50))
    for a, b in zip(few, many, strict=True):
        for short, long in zip(a, b, strict=True):
            assert short.tokens == long.tokens[:3]
            assert short.scores == long.scores[:3]


def test_scores_are_log_probabilities_of_the_whole_vocabulary(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    everything = range(engine.manifest.vocabulary)
    for prediction, *_ in engine.predict(queries[:5], 5, True, everything):
        assert np.exp(prediction.targets).sum() == pytest.approx(1, abs=1e-4)
        assert prediction.scores == [prediction.targets[token] for token in prediction.tokens]


def test_control_tokens_are_never_candidates_and_pieces_only_when_asked_for(
    engine: OnnxEngine,
    queries: list[Query],
    codec: TextCodec,
) -> None:
    vocabulary = engine.manifest.vocabulary
    words, all_of_them = (
        {
            codec.token(token)
            for token in engine.predict(queries[:1], vocabulary, pieces, [])[0][0].tokens
        }
        for pieces in (False, True)
    )
    assert not words & {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    assert not any(token.startswith("##") and len(token) > 2 for token in words)
    assert all_of_them - words
    assert all(token.startswith("##") for token in all_of_them - words)
    assert len(all_of_them) == vocabulary - 5


def test_a_graph_that_cannot_be_loaded_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"no graph")
    with pytest.raises(EngineUnavailable, match=r"model\.onnx could not be loaded: .+") as caught:
        onnx_engine.open_session(broken, onnx_engine.session_options(1))
    assert "\n" not in caught.value.detail


def test_a_graph_of_another_vocabulary_is_refused(engine: OnnxEngine) -> None:
    other = engine.manifest._replace(vocabulary=21128)
    with pytest.raises(EngineUnavailable, match=r"has 7902 tokens and model\.json says 21128"):
        OnnxEngine.load(MODEL, other, threads=1)


def test_a_run_that_fails_is_an_unavailable_engine(
    engine: OnnxEngine, caplog: pytest.LogCaptureFixture
) -> None:
    outside = Query([engine.manifest.vocabulary], [0])
    with pytest.raises(EngineUnavailable, match="the log says why"):
        engine.hidden([outside])
    assert "the model failed to run" in caplog.text


def test_hidden_states_alone_equal_hidden_states_in_a_batch(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    whole = [Query(query.ids, range(len(query.ids))) for query in queries]
    together = engine.hidden(whole)
    for query, states in zip(whole, together, strict=True):
        assert states.shape == (len(query.ids), engine.manifest.hidden)
        assert np.array_equal(engine.hidden([query])[0], states)
