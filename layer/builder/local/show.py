"""What the terminal shows: a ranking with bars, a JSON object, or one sentence for an error."""

import json
import sys
from typing import Any, Final

BAR: Final = 30  # characters of a full bar
TOKEN_WIDTH: Final = 6  # columns of a token and the blank after it
WIDE: Final = 0x2E7F  # from the character after it on, most take two columns


def whole_json(value: Any) -> None:
    """An answer or a problem, as the API gives it."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def refusal(problem: dict[str, Any], *, whole: bool) -> None:
    """The sentence of a problem object on standard error, or the whole object."""
    if whole:
        whole_json(problem)
    else:
        print(f"error: {problem['detail']}", file=sys.stderr)


def ranking(answer: dict[str, Any]) -> None:
    """Token, score as a bar and a number, and sentence, for each mask and for whole fillings."""
    result = answer["results"][0]
    print(f"{result['text']}    ({answer['model']['id']}, {result['tokens']} tokens)")

    for number, mask in enumerate(result["masks"], 1):
        print(f"\nmask {number}, characters {mask['start']} to {mask['end']}")
        for row in mask["candidates"]:
            _row(row["token"], row)

    if result["fillings"]:
        print("\nwhole fillings, by joint score")
    for row in result["fillings"] or ():
        _row(" ".join(row["tokens"]), row)

    for stretch in result["unknown"]:
        where = f"characters {stretch['start']} to {stretch['end']}"
        print(f"\nnot seen by the model ({stretch['reason']}): {where}")


def _row(token: str, row: dict[str, Any]) -> None:
    score = row["score"]
    if score is None:
        print(f"  {token}  not scored: {row['reason']}")
        return

    width = sum(2 if ord(character) > WIDE else 1 for character in token)
    gap = " " * max(1, TOKEN_WIDTH - width)
    bar = "█" * round(score * BAR)
    print(f"  {token}{gap}{bar:<{BAR}} {score:7.2%}  {row['sequence']}")
