"""The engine: the same query gives the same numbers in every company, and work is bounded."""

import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from builder.model import verify
from fillmask.model.contract import Prediction, Query
from fillmask.model.onnx_engine import MAX_RUN_MASKS, MAX_RUN_TOKENS, OnnxEngine, plan_runs
from fillmask.model.text import TextCodec


@pytest.fixture(scope="module")
def queries(engine: OnnxEngine, codec: TextCodec) -> list[Query]:
    """Sentences of every length, with one to five masks, and one near the model's limit."""
    chance = random.Random(7)
    special, made = engine.manifest.special, []
    sentences = verify.sentences()[:70]
    for sentence in [*sentences, "".join(sentences)[:250]]:
        ids = codec.encode(sentence, lowercase=True).ids[:254]
        masks = sorted(chance.sample(range(len(ids)), min(len(ids), chance.randint(1, 5))))
        for mask in masks:
            ids[mask] = special["mask"]
        made.append(Query([special["start"], *ids, special["end"]], [mask + 1 for mask in masks]))
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


def test_runs_are_bounded_and_cover_every_query_once(queries: list[Query]) -> None:
    chance = random.Random(3)
    many = queries + [
        Query([0] * chance.randint(3, 256), [1] * chance.randint(1, 64)) for _ in range(200)
    ]
    runs = plan_runs(many, MAX_RUN_MASKS)
    assert sorted(index for run in runs for index in run) == list(range(len(many)))
    for run in runs:
        longest = max(len(many[index].ids) for index in run)
        assert longest * len(run) <= MAX_RUN_TOKENS
        assert sum(len(many[index].positions) for index in run) <= MAX_RUN_MASKS


def test_unpacked_weights_give_the_same_numbers_and_give_way_to_packed_ones(
    engine: OnnxEngine,
    queries: list[Query],
) -> None:
    cold = OnnxEngine.load(Path("layer/model"), engine.manifest, threads=1, packed=False)
    first = cold._session
    assert predict(cold, queries[:8]) == predict(engine, queries[:8])
    assert cold._session is first, "nothing is packed beside a first answer"
    for query in queries:
        assert predict(cold, [query]) == predict(engine, [query])
    while any(thread.name == "pack" for thread in threading.enumerate()):
        time.sleep(0.01)
    assert cold._session is not first
    assert predict(cold, queries) == predict(engine, queries)


def test_threads_spin_once_the_imports_are_over(engine: OnnxEngine) -> None:
    first = OnnxEngine.load(Path("layer/model"), engine.manifest, threads=2, packed=False)
    packed = OnnxEngine.load(Path("layer/model"), engine.manifest, threads=2)
    spins = [
        made._session.get_session_options().get_session_config_entry(
            "session.intra_op.allow_spinning"
        )
        for made in (first, packed)
    ]
    assert spins == ["0", "1"]


def test_hidden_states_alone_equal_hidden_states_in_a_batch(
    engine: OnnxEngine, queries: list[Query]
) -> None:
    whole = [Query(query.ids, range(len(query.ids))) for query in queries]
    together = engine.hidden(whole)
    for query, states in zip(whole, together, strict=True):
        assert states.shape == (len(query.ids), engine.manifest.hidden)
        assert np.array_equal(engine.hidden([query])[0], states)
