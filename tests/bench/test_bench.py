"""The benchmark's own arithmetic and rendering; its measurements are no tests."""

from typing import Any
from xml.etree import ElementTree

import pytest

from bench import __main__ as command
from bench import chart, cost, events, promises, report, run, sizing, stats

CAREFUL, ARTICLE = 1.0, 3.0
SIZES = {
    "ours": {"model": 105_000_000, "packages": 112_000_000},
    "article": {"model": 119_000_000, "packages": 346_000_000},
}


def cold(
    who: str, seconds: float, event: str = "direct", cpus: int = 2, cache: str = "warm"
) -> dict[str, Any]:
    return stats.row(
        [seconds], who=who, event=event, cpus=cpus, cache=cache, cpu=seconds, peak=200e6, read=5e6
    )


MACHINE = {
    "day": "2026-01-01",
    "cpu": "A <CPU> & more",
    "flags": ["avx2"],
    "cores": 2,
    "memory": 2**33,
    "kernel": "6",
    "python": "3.13.0",
    "versions": {"numpy": "2"},
    "load": 0.1,
}


def warm() -> list[dict[str, Any]]:
    """Latencies at two lengths, and our own part at one."""
    rows = [
        stats.row([seconds], who=who, tokens=tokens, threads=1, part=part)
        for tokens in (16, 128)
        for who, seconds in (("ours", 0.01), ("article", 0.02 * tokens / 16), ("pipeline", 0.06))
        for part in ("answer", "session")
    ]
    return [*rows, stats.row([0.0002], who="ours", tokens=16, threads=1, part="around the session")]


def throughput() -> list[dict[str, Any]]:
    return [
        stats.row([seconds], who=who, texts=64, batch=batch, threads=1)
        for who, batch, seconds in (("ours", 64, 0.4), ("ours", 1, 0.8), ("article", 64, 1.0))
    ]


def memory() -> list[dict[str, Any]]:
    return [
        {"who": "ours", "requests": count, "peak": 3e8, "resident": size}
        for count, size in ((0, 2e8), (200, 2.5e8), (2000, 3e8))
    ]


def sized() -> list[dict[str, Any]]:
    return [
        stats.row([seconds], who="ours", event="http", megabytes=512, phase=phase, peak=200_000_000)
        for phase, seconds in (("cold", 0.5), ("next", 0.1), ("warm", 0.05))
    ]


def results() -> dict[str, Any]:
    """A run of one measurement each, with every part."""
    return {
        "machine": MACHINE,
        "model": "random",
        "quick": True,
        "sizes": SIZES,
        "cold": [
            cold("ours", 0.2),
            cold("careful", CAREFUL),
            cold("article", ARTICLE),
            cold("ours", 0.4, cache="cold"),
        ],
        "warm": warm(),
        "throughput": throughput(),
        "memory": memory(),
        "cache": [stats.row([0.001], source="memory")],
        "sizing": sized(),
        "cost": cost.table(sized()),
    }


def test_quartiles_lie_between_neighbours() -> None:
    summary = stats.summarise([4.0, 1.0, 3.0, 2.0])
    assert summary == pytest.approx((2.5, 1.75, 3.25, 3.85, 4))
    assert stats.summarise([7.0])[:4] == (7.0, 7.0, 7.0, 7.0)
    with pytest.raises(ValueError, match="no values"):
        stats.percentile([], 0.5)


def test_ratio_is_of_medians_and_none_without_one_side() -> None:
    rows = [cold("ours", 0.2), cold("careful", CAREFUL)]
    assert stats.ratio(rows, {"who": "ours"}, {"who": "careful"}) == pytest.approx(0.2)
    assert stats.ratio(rows, {"who": "ours"}, {"who": "pipeline"}) is None


def test_cost_follows_its_formula() -> None:
    """1 GB for 100 ms: 1e6 x 0.1 x the price of a GB-second, and 0.20; 1.00 more over HTTP."""
    alone = cost.dollars_per_million(1024, 0.1, 0.1, gateway=False)
    assert alone == pytest.approx(1.66667 + 0.20)
    assert cost.dollars_per_million(1024, 0.1, 0.1, gateway=True) == pytest.approx(alone + 1.00)
    in_whole_milliseconds = cost.dollars_per_million(1024, 0.0991, 0.1, gateway=False)
    assert in_whole_milliseconds == pytest.approx(alone)
    slower = cost.dollars_per_million(1024, 0.1, 1.1, gateway=False)
    assert slower - alone == pytest.approx(cost.COLD_SHARE * 1e6 * cost.GB_SECOND)


def test_cost_says_when_a_function_does_not_fit_its_memory() -> None:
    rows = [
        stats.row([1.0], who="big", event="direct", megabytes=512, phase=phase, peak=600 * 2**20)
        for phase in ("cold", "warm")
    ]
    assert [row["fits"] for row in cost.table(rows)] == [False]
    assert sizing.cpus(1769) == 1.0


def test_promises_take_the_worst_length() -> None:
    values = {promise.what: promise.measured(results()) for promise in promises.PROMISES}
    assert values["cold, direct event, to careful"] == pytest.approx(0.2)
    assert values[
        "warm, one text, whole answer, to article at ours' worst length"
    ] == pytest.approx(0.5)
    assert values["warm, one text, times faster than pipeline, 16 to 128 tokens"] == pytest.approx(
        6
    )
    assert values["warm, our Python around the session, 16 to 128 tokens"] == pytest.approx(0.2)
    assert values["64 mixed texts, times faster than one by one"] == pytest.approx(2)
    assert values["memory after all random requests, to after a tenth of them"] == pytest.approx(
        1.2
    )
    assert values["cold, HTTP event, 1 CPU, to careful"] is None


def test_report_shows_every_part_and_marks_a_broken_promise() -> None:
    broken = results()
    broken["cold"] = [cold("ours", 0.9), cold("careful", CAREFUL)]
    text = report.markdown(broken)
    assert "| cold, direct event, to careful | <= 0.28 x | 0.90 x | **no** |" in text
    for heading in (
        "Cold start",
        "Warm latency",
        "Throughput",
        "Memory,",
        "Bytes",
        "Where an answer",
        "Memory sizes",
        "Dollars",
    ):
        assert f"## {heading}" in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


def test_chart_is_well_formed_and_its_bars_are_in_proportion() -> None:
    told = results()
    root = ElementTree.fromstring(chart.svg(chart.panels(told)))  # noqa: S314  our own text
    bars = [float(bar.attrib["width"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars[0] / bars[2] == pytest.approx(0.2 / ARTICLE, rel=0.01)
    words = " ".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "0.20 s" in words
    assert "HTTP event" not in words  # not measured: no panel


def test_texts_have_the_length_they_should_and_repeat_by_seed() -> None:
    text = next(events.of_length(16, 1))
    assert text.count(events.MASK) == 1
    assert len(text.replace(events.MASK, "")) == 13  # [CLS], [SEP] and the mask are the others
    assert text == next(events.of_length(16, 1)) != next(events.of_length(16, 2))
    batch = events.mixed(512, 1)
    assert len(set(batch)) == 512
    assert all(one.count(events.MASK) == 1 for one in batch)


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": 500, "body": "{}"},
        {"batchItemFailures": [{"itemIdentifier": "1"}]},
        None,
        {"code": "internal"},
    ],
)
def test_what_is_no_answer_stops_the_run(answer: Any) -> None:
    with pytest.raises(RuntimeError, match="no answer"):
        events.check(answer)


def test_each_part_that_the_command_offers_is_measured() -> None:
    assert list(run.MEASURES) == list(command.PARTS)


def test_a_part_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "cold,hot"]) == 1
    assert capsys.readouterr().err.startswith("error: there is no part hot; there are cold, ")
