"""The handler on this machine: one answer on the terminal, a whole event, or an HTTP server.

    python -m builder.local run TEXT [--top-k N] [--targets A,B] [--joint] [--json]
    python -m builder.local run --event FILE
    python -m builder.local serve [--host ADDRESS] [--port N]

The options are read before anything beyond the standard library is imported: --help needs no installed package.
"""

import argparse
import json
import os
import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fillmask.errors import FillMaskError, InvalidJson, UnreportableError
from fillmask.problem import problem
from fillmask.queue.messages import QueueAdapter
from fillmask.queue.results import Result

BAR = 30  # characters of a full bar
SEPARATORS = re.compile(r"[\s,，、/|]+")  # of targets, as on the page


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 after one sentence on standard error (with --json: the problem on standard output)."""
    options = _options(arguments)
    if not os.environ.get("FILLMASK_MODEL_DIR"):
        from builder.layers.assemble import default_model  # noqa: PLC0415  (only where nothing is chosen)

        os.environ["FILLMASK_MODEL_DIR"] = str(default_model())
    try:
        return int(options.task(options))
    except FillMaskError as error:
        return _refuse(problem(error), as_json=getattr(options, "json", False))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}", file=sys.stderr)
    except (ValueError, UnreportableError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="build.sh")
    tasks = parser.add_subparsers(required=True)
    run = tasks.add_parser("run", help="answer one text or event")
    run.add_argument("text", nargs="?", help="a text with at least one [MASK]")
    run.add_argument(
        "--top-k", type=int, default=5, help="candidates a mask (default: %(default)s)"
    )
    run.add_argument(
        "--targets", help="score just these words, separated by commas (, or ，) or blanks"
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
    run.set_defaults(task=_run, parser=run)
    serve = tasks.add_parser("serve", help="serve the HTTP API")
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 is every one of this machine (default: %(default)s)",
    )
    serve.add_argument(
        "--port", type=_port, default=8000, help="port; 0 is any free one (default: %(default)s)"
    )
    serve.set_defaults(task=_serve, parser=serve)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:  # said by the task's own parser, whose usage line names the task's options
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.task is _run and (options.text is None) == (options.event is None):
        run.error("give a text or --event FILE")
    return options


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


class Context:
    """What the handler uses of Lambda's context object."""

    aws_request_id = "local"

    def get_remaining_time_in_millis(self) -> int:
        """As long as a queue function gets."""
        return 60_000


def _run(options: argparse.Namespace) -> int:
    event = _event(options.event) if options.event else None
    import handler  # noqa: PLC0415  (loads the model)

    if options.event:
        _print_json(_answer_event(event))
        return 0
    request: dict[str, Any] = {"text": options.text, "top_k": options.top_k}
    if options.targets is not None:
        request["targets"] = [word for word in SEPARATORS.split(options.targets) if word] or [""]
    if options.joint:
        request["mode"] = "joint"
    answer = handler.handler(request, Context())
    if "code" in answer:
        return _refuse(answer, as_json=options.json)
    if options.json:
        _print_json(answer)
    else:
        _print_ranking(answer)
    return 0


class Kept:
    """A result queue that keeps what it is sent, to be printed."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def send(self, results: Sequence[Result]) -> set[str]:
        """Accept every result."""
        self.bodies += [json.loads(result.text) for result in results]
        return set()


def _answer_event(event: Any) -> Any:
    """What the handler answers; for a batch of messages, also what the result queue would get."""
    import handler  # noqa: PLC0415  (loads the model)

    kept = Kept()
    adapter = QueueAdapter(handler.SERVICE.answer, kept)
    if not adapter.recognises(event):
        return handler.handler(event, Context())
    told = adapter.answer(event, Context())
    return {"results": kept.bodies, **told}


def _event(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"{file} is not JSON.") from error


def _refuse(found: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        _print_json(found)
    else:
        print(f"error: {found['detail']}", file=sys.stderr)
    return 1


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _print_ranking(answer: dict[str, Any]) -> None:
    """Token, score as a bar and a number, and the sentence, for each mask and for whole fillings."""
    result = answer["results"][0]
    print(f"{result['text']}    ({answer['model']['id']}, {result['tokens']} tokens)")
    for number, mask in enumerate(result["masks"], 1):
        print(f"\nmask {number}, characters {mask['start']} to {mask['end']}")
        for row in mask["candidates"]:
            print(_line(row["token"], row["score"], row["sequence"], row.get("reason")))
    if result["fillings"]:
        print("\nwhole fillings, by joint score")
    for row in result["fillings"] or ():
        print(_line(" ".join(row["tokens"]), row["score"], row["sequence"], None))
    for stretch in result["unknown"]:
        print(
            f"\nnot seen by the model ({stretch['reason']}): characters {stretch['start']} to {stretch['end']}"
        )


def _line(token: str, score: float | None, sequence: str, reason: str | None) -> str:
    if score is None:
        return f"  {token}  not scored: {reason}"
    width = sum(2 if ord(character) > 0x2E7F else 1 for character in token)
    bar = "█" * round(score * BAR)
    return f"  {token}{' ' * max(1, 6 - width)}{bar:<{BAR}} {score:7.2%}  {sequence}"


def listening_socket(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    """Like socket.create_server, but a socket that says it speaks TCP: asyncio sets TCP_NODELAY only there, and
    without it every answer on a kept connection waits 40 ms for the client's acknowledgement."""
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _serve(options: argparse.Namespace) -> int:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with listening_socket(family, options.host, options.port) as listening:
        import uvicorn  # noqa: PLC0415  (with the next, only for serve)

        import handler  # noqa: PLC0415
        from fillmask.http.app import create_app  # noqa: PLC0415

        server = uvicorn.Server(
            uvicorn.Config(
                create_app(handler.SERVICE, handler.SETTINGS),
                log_level="warning",
                timeout_graceful_shutdown=2,
            )
        )
        host = f"[{options.host}]" if family == socket.AF_INET6 else options.host
        print(
            f"serving http://{host}:{listening.getsockname()[1]}/ (documents at /docs)", flush=True
        )
        try:
            server.run([listening])
        except KeyboardInterrupt:  # uvicorn raises it again once it has shut down
            return 0
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())
