"""The 300 cloze prompts are what their README says, and the tools around them count and find."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from builder.model import probes, verify
from builder.model.probes import Probe, ProbeCount, ProbeResults
from fillmask.model.contract import Query
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from support import probe_set
from support.paths import CHECKPOINT, MODEL

PROBES = probes.read(probe_set.FILE)
SPECIAL = re.compile(r"\[[A-Z]+\]")
PER_KIND = 25  # prompts of each kind in each half


def filled(asked: list[Probe]) -> set[str]:
    """Every sentence of the prompts, with each accepted token in its place, without punctuation."""
    return {
        probe_set.bare(probe.text.replace(probe_set.MASK, token))
        for probe in asked
        for token in probe.accept
    }


def test_every_line_is_an_object_with_the_four_fields() -> None:
    lines = probe_set.FILE.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 300
    for line in lines:
        row = json.loads(line)
        assert list(row) == ["text", "accept", "kind", "half"]
        assert row["accept"]
        assert all(isinstance(token, str) for token in row["accept"])


def test_a_prompt_has_one_mask_and_known_tokens(codec: TextCodec) -> None:
    vocabulary = set((CHECKPOINT / "vocab.txt").read_text(encoding="utf-8").splitlines())
    tokens = {token for token in vocabulary if not SPECIAL.fullmatch(token)}
    for probe in PROBES:
        encoded = codec.encode(probe.text, lowercase=True)
        assert probe.text.count(probe_set.MASK) == len(encoded.masks) == 1, probe
        assert not encoded.unknown, probe
        assert set(probe.accept) <= tokens, probe
        assert len(set(probe.accept)) == len(probe.accept), probe


def test_the_halves_have_as_many_prompts_of_each_of_the_kinds_of_the_62() -> None:
    kinds = {probe.kind for probe in probes.read()}
    counted = Counter((probe.kind, probe.half) for probe in PROBES)
    assert counted == {(kind, half): PER_KIND for kind in kinds for half in probe_set.HALVES}


def test_no_prompt_and_no_filled_sentence_stands_twice() -> None:
    assert len({probe_set.bare(probe.text) for probe in PROBES}) == len(PROBES)
    assert len(filled(PROBES)) == sum(len(probe.accept) for probe in PROBES)


def test_no_prompt_is_one_of_the_62() -> None:
    asked = probes.read()
    assert filled(PROBES).isdisjoint(filled(asked))
    assert not list(probe_set.occurrences(PROBES, "\n".join(filled(asked))))


@pytest.mark.parametrize("name", ["calibration.txt", "sentences-cc0.txt"])
def test_no_prompt_stands_in_what_builds_or_proves_a_model(name: str) -> None:
    text = (verify.DATA / name).read_text(encoding="utf-8")
    assert not list(probe_set.occurrences(PROBES, text))
    prompts = {probe_set.bare(probe.text) for probe in PROBES}
    assert prompts.isdisjoint(probe_set.bare(text).splitlines())


def test_a_prompt_in_a_text_is_found_whatever_its_punctuation() -> None:
    probe = Probe("下午你想喝茶还[MASK]喝咖啡？", ["是"], "grammar")
    assert list(probe_set.occurrences([probe], "他问：“下午 你想喝茶，还是喝咖啡”")) == [
        (probe.text, "是")
    ]
    assert not list(probe_set.occurrences([probe], "下午你想喝茶还\n是喝咖啡"))
    assert not list(probe_set.occurrences([probe], "下午你想喝茶还要喝咖啡？"))


def test_comparing_with_a_folder_names_the_file_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clean.txt").write_text("秋天会落叶。\n", encoding="utf-8")
    assert probe_set.main(["compare", str(tmp_path)]) == 0
    probe = PROBES[-1]
    (tmp_path / "taken.txt").write_text(
        probe.text.replace(probe_set.MASK, probe.accept[-1]), encoding="utf-8"
    )
    assert probe_set.main(["compare", str(tmp_path)]) == 1
    assert f"taken.txt: {probe.text} {probe.accept[-1]}" in capsys.readouterr().out


def test_the_score_counts_the_first_and_the_first_five(
    engine: OnnxEngine, codec: TextCodec
) -> None:
    text = "今天天气很[MASK]。"
    encoded = codec.encode(text, lowercase=True)
    query = Query(engine.manifest.special.enclose(encoded.ids), [encoded.masks[0] + 1])
    ranked = [codec.token(token) for token in engine.predict([query], 6, False, [])[0][0].tokens]
    asked = [Probe(text, [ranked[place]], "everyday") for place in (0, 4, 5)]
    results = probes.score(engine, codec, asked)
    assert results == ProbeResults({"everyday": ProbeCount(3, top1=1, top5=2)}, right=[0])


def test_the_score_is_of_the_open_half_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "probes.jsonl"
    rows = [
        {"text": "我爱[MASK]。", "accept": ["你"], "kind": "everyday", "half": half}
        for half in ("open", "held-back", "held-back")
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.setattr(probe_set, "FILE", file)
    for options, count in (([], 1), (["--half", "held-back"], 2)):
        assert probe_set.main(["score", str(MODEL), *options]) == 0
        assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["all", str(count)]
