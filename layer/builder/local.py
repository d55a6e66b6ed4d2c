"""The handler on this machine: one answer on the terminal, a whole event, or an HTTP server.

    python -m builder.local run TEXT [--top-k N] [--targets A,B] [--joint] [--json]
    python -m builder.local run --event FILE
    python -m builder.local serve [--port 8000]
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import handler
from fillmask.http_api import create_app

BAR = 30  # characters of a full bar


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 after one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="build.sh")
    tasks = parser.add_subparsers(required=True)
    run = tasks.add_parser("run", help="answer one text or event")
    run.add_argument("text", nargs="?", help="a text with at least one [MASK]")
    run.add_argument("--top-k", type=int, default=5, help="candidates a mask (default 5)")
    run.add_argument("--targets", help="score just these words, separated by commas")
    run.add_argument("--joint", action="store_true", help="rank whole fillings of several masks")
    run.add_argument("--json", action="store_true", help="print the result object")
    run.add_argument("--event", type=Path, help="send a whole event from a JSON file through the handler")
    run.set_defaults(task=_run)
    serve = tasks.add_parser("serve", help="serve the HTTP API")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    serve.set_defaults(task=_serve)
    options = parser.parse_args(arguments)
    if options.task is _run and (options.text is None) == (options.event is None):
        run.error("give a text or --event FILE")
    return int(options.task(options))


class Context:
    """What the handler uses of Lambda's context object."""

    aws_request_id = "local"

    def get_remaining_time_in_millis(self) -> int:
        """As long as a queue function gets."""
        return 60_000


def _run(options: argparse.Namespace) -> int:
    if options.event:
        event = json.loads(options.event.read_text(encoding="utf-8"))
        _print_json(handler.handler(event, Context()))
        return 0
    request: dict[str, Any] = {"text": options.text, "top_k": options.top_k}
    if options.targets:
        request["targets"] = options.targets.split(",")
    if options.joint:
        request["mode"] = "joint"
    answer = handler.handler(request, Context())
    if "code" in answer:
        print(f"error: {answer['detail']}", file=sys.stderr)
        return 1
    if options.json:
        _print_json(answer)
    else:
        _print_ranking(answer)
    return 0


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
    for row in result["fillings"] or ():
        print(_line(" ".join(row["tokens"]), row["score"], row["sequence"], None))
    for stretch in result["unknown"]:
        print(f"\nnot seen by the model ({stretch['reason']}): characters {stretch['start']} to {stretch['end']}")


def _line(token: str, score: float | None, sequence: str, reason: str | None) -> str:
    if score is None:
        return f"  {token}  not scored: {reason}"
    width = sum(2 if ord(character) > 0x2E7F else 1 for character in token)
    bar = "█" * round(score * BAR)
    return f"  {token}{' ' * max(1, 6 - width)}{bar:<{BAR}} {score:7.2%}  {sequence}"


def _serve(options: argparse.Namespace) -> int:
    import uvicorn  # noqa: PLC0415  (only for serve)
    print(f"serving http://{options.host}:{options.port}/ (documents at /docs)", flush=True)
    uvicorn.run(create_app(handler.SERVICE, handler.SETTINGS), host=options.host, port=options.port,
                log_level="warning", timeout_graceful_shutdown=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
