"""The command: ./build.sh bench [--quick] [--model DIR] [--only PART,...].

The options are read with the standard library alone: --help needs no installed package.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PARTS: Final = ("cold", "sizing", "warm", "throughput", "memory", "cache")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 after the report, or 1 after one sentence on standard error."""
    options = _parser().parse_args(arguments)
    parts = options.only.split(",") if options.only else PARTS
    if unknown := set(parts) - set(PARTS):
        print(
            f"error: there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}",
            file=sys.stderr,
        )
        return 1

    from .run import run  # with all that is measured

    run(options.model, parts, quick=options.quick)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "build.sh bench",
        description="Measure against the usual alternatives, in an environment of its own (3 GB).",
    )
    parser.add_argument(
        "--quick", action="store_true", help="two minutes: fewer sizes and repetitions"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a checkpoint's folder (default: random weights in the shape of bert-base-chinese)",
    )
    parser.add_argument("--only", metavar="PART,...", help=f"some of {', '.join(PARTS)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
