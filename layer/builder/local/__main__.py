"""The commands `./build.sh run` and `./build.sh serve`.

    python -m builder.local run TEXT [--top-k N] [--targets A,B] [--joint] [--json] [--model DIR]
    python -m builder.local run --event FILE
    python -m builder.local serve [--host ADDRESS] [--port N] [--model DIR]

The options are read with the standard library alone: --help needs no installed package.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from builder.local import show
from builder.local.run import Question, answer_event, answer_text
from builder.local.serve import serve
from fillmask.errors import FillMaskError, UnreportableError
from fillmask.problem import problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or 1 after one sentence on standard error.

    With --json an error is a problem object on standard output.
    """
    options = _options(arguments)
    if options.model:
        os.environ["FILLMASK_MODEL_DIR"] = str(options.model)
    if not os.environ.get("FILLMASK_MODEL_DIR"):
        from builder.layers.assemble import default_model  # noqa: PLC0415  (only where needed)

        os.environ["FILLMASK_MODEL_DIR"] = str(default_model())
    try:
        return _perform(options)
    except FillMaskError as error:
        show.refusal(problem(error), whole=getattr(options, "json", False))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}", file=sys.stderr)
    except (ValueError, UnreportableError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


def _perform(options: argparse.Namespace) -> int:
    if options.task == "serve":
        return serve(options.host, options.port)
    if options.event:
        return answer_event(options.event)
    question = Question(options.text, options.top_k, options.targets, options.joint)
    return answer_text(question, as_json=options.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="build.sh")
    tasks = parser.add_subparsers(dest="task", required=True)
    run = tasks.add_parser("run", description="Answer one text or event.")
    serving = tasks.add_parser("serve", description="Serve the HTTP API.")
    _add_run_options(run)
    _add_serve_options(serving)
    for task in (run, serving):
        task.add_argument(
            "--model",
            type=Path,
            metavar="DIR",
            help="a built model (default: .build/model, or else layer/model)",
        )

    options, unknown = parser.parse_known_args(arguments)
    if unknown:  # said by the task's own parser, whose usage line names the task's options
        tasks.choices[options.task].error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.task == "run" and (options.text is None) == (options.event is None):
        run.error("give a text or --event FILE")
    return options


def _add_run_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("text", nargs="?", help="a text with at least one [MASK]")
    run.add_argument(
        "--top-k",
        type=int,
        default=5,
        metavar="N",
        help="candidates per mask (default: %(default)s)",
    )
    run.add_argument(
        "--targets",
        metavar="WORDS",
        help="score only these words, separated by commas (, or ，) or blanks",
    )
    run.add_argument("--joint", action="store_true", help="rank whole fillings of several masks")
    run.add_argument(
        "--json", action="store_true", help="print the result object, or the problem object"
    )
    run.add_argument(
        "--event",
        type=Path,
        metavar="FILE",
        help="send a whole event from a JSON file through the handler",
    )


def _add_serve_options(serving: argparse.ArgumentParser) -> None:
    serving.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on; 0.0.0.0 is every one of this machine (default: %(default)s)",
    )
    serving.add_argument(
        "--port",
        type=_port,
        default=8000,
        metavar="N",
        help="port; 0 is any free one (default: %(default)s)",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:  # `run --json | head -1` ends as quietly as cat does
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
