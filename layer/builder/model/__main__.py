"""The command `./build.sh model`: builds a model folder from a checkpoint.

    python -m builder.model ID_OR_DIR [--out DIR] [--task embed] [--revision REV] [--force]

The options are read with the standard library alone: --help needs no installed package.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or 1 after one sentence on standard error."""
    options = _parser().parse_args(arguments)
    # ruff: noqa: PLC0415  (imported once the options are read)
    from builder.checkpoint import hub
    from builder.checkpoint.errors import CheckpointError
    from builder.model.build import build
    from builder.model.publish import check_place
    from fillmask.errors import EngineUnavailable

    # A build that is ended clears up as one that fails does.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))

    try:
        check_place(options.out, Path(options.source))
        source = hub.find(options.source, options.revision)
        named = source._replace(id=options.name or source.id)
        build(named, options.out, task=options.task, force=options.force)
    except (CheckpointError, EngineUnavailable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="build.sh model",
        description="Build a model folder from a checkpoint: a Hugging Face folder or a Hub id.",
    )
    parser.add_argument("source", metavar="ID_OR_DIR", help="a Hugging Face folder or a Hub id")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(".build/model"),
        metavar="DIR",
        help="where to put it (default: %(default)s, which run, serve and layer then use)",
    )
    parser.add_argument(
        "--task",
        choices=["fill-mask", "embed"],
        default="fill-mask",
        help="fill-mask, which embeds too, or embed: leave the masked-LM head away, or do without"
        " one (default: %(default)s)",
    )
    parser.add_argument("--revision", metavar="REV", help="branch, tag or commit of a Hub id")
    parser.add_argument(
        "--name", metavar="ID", help="the id to write into the manifest instead of the source's"
    )
    parser.add_argument(
        "--force", action="store_true", help="keep the result even when it disagrees with float32"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
