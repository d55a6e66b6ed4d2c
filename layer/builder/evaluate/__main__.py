"""The command `./build.sh eval`: scores a model on the user's own data.

    python -m builder.evaluate FILE [--model DIR] [--float DIR] [--every N] [--json]

The options are read with the standard library alone: --help needs no installed package.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 after the scores, or 1 after one sentence on standard error."""
    options = _parser().parse_args(arguments)
    # ruff: noqa: PLC0415  (imported once the options are read)
    from builder.checkpoint.errors import CheckpointError
    from builder.evaluate import samples, show
    from builder.evaluate.run import evaluate
    from builder.evaluate.samples import DataError
    from builder.layers.assemble import default_model
    from fillmask.errors import FillMaskError

    try:
        read = samples.read(options.file)
        model = options.model or default_model()
        found = evaluate(read, model, options.float, options.every)
    except (DataError, CheckpointError, FillMaskError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(show.as_json(found) if options.json else show.as_text(found))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="build.sh eval",
        description="Score a model on a file of your own: a sample a line, UTF-8.",
        epilog='Samples: {"text": "画龙点[MASK]", "accept": ["睛"]}, {"a": "退款", "b": "退货", '
        '"label": 1}, both with an optional "kind", or plain sentences.',
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the samples")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a built model (default: .build/model, or else layer/model)",
    )
    parser.add_argument(
        "--float",
        type=Path,
        metavar="DIR",
        help="the checkpoint it was built from: also score its float32 form, and compare the two",
    )
    parser.add_argument(
        "--every",
        type=_positive,
        default=7,
        metavar="N",
        help="mask one token in N of a plain sentence (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
