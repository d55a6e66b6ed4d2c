"""The 300 cloze prompts of tests/data: score a model on them, or look for them in a training text.

python -m support.probe_set score MODEL [--half held-back]
python -m support.probe_set compare FOLDER
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from builder.model import probes
from builder.model.probes import Probe
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from support.paths import TESTS

FILE: Final = TESTS / "data" / "cloze-300.jsonl"
HALVES: Final = ("open", "held-back")
MASK: Final = "[MASK]"
PUNCTUATION: Final = re.compile(r"[^\w\n]|_")


class Found(NamedTuple):
    """A prompt that stands, with one of its tokens filled in, in a text."""

    prompt: str
    token: str


def bare(text: str) -> str:
    """A text without punctuation and spaces, in lower case; its lines stay apart."""
    return PUNCTUATION.sub("", text).lower()


def occurrences(asked: Sequence[Probe], text: str) -> Iterator[Found]:
    """Each prompt and accepted token whose sentence stands in the text, punctuation aside."""
    searched = bare(text)
    for probe in asked:
        left, right = map(bare, probe.text.split(MASK))

        # One search for the longer side clears most prompts, whatever the number of their tokens.
        if max(left, right, key=len) not in searched:
            continue
        for token in probe.accept:
            if left + bare(token) + right in searched:
                yield Found(probe.text, token)


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 when a prompt was found in a text."""
    parser = argparse.ArgumentParser(prog="python -m support.probe_set")
    tasks = parser.add_subparsers(required=True)
    score = tasks.add_parser("score", help="count a model's right answers")
    score.add_argument("model", type=Path, metavar="MODEL", help="a built model's folder")
    score.add_argument("--half", choices=HALVES, default="open", help="(default: %(default)s)")
    score.set_defaults(task=_score)
    compare = tasks.add_parser("compare", help="find prompts in text files")
    compare.add_argument("folder", type=Path, metavar="FOLDER", help="a folder of .txt files")
    compare.set_defaults(task=_compare)
    options = parser.parse_args(arguments)
    return int(options.task(options))


def _score(options: argparse.Namespace) -> int:
    described = manifest.read(options.model)
    engine = OnnxEngine.load(options.model, described, threads=1)
    codec = TextCodec.load(options.model, described)
    asked = [probe for probe in probes.read(FILE) if probe.half == options.half]
    results = probes.score(engine, codec, asked)

    print(f"{'kind':<14}{'prompts':>8}{'top-1':>8}{'top-5':>8}")
    for kind, count in [*results.kinds.items(), ("all", results.total)]:
        print(f"{kind:<14}{count.probes:>8}{count.top1:>8}{count.top5:>8}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    files = sorted(options.folder.glob("*.txt"))
    if not files:
        sys.exit(f"error: no .txt file in {options.folder}")
    asked, count = probes.read(FILE), 0
    for file in files:
        for found in occurrences(asked, file.read_text(encoding="utf-8")):
            print(f"{file.name}: {found.prompt} {found.token}")
            count += 1
    print(f"{len(asked)} prompts, {len(files)} files: {count} found")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
