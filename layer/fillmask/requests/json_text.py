"""JSON text in and out, in the one spelling that the package reads and the one that it writes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fillmask.errors import InvalidJson

# What the package writes; what it reads is Any until a schema has checked it.
JsonValue = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
JsonObject = dict[str, JsonValue]

# Of a 64-bit id. A longer integer is over every bound here, and slow to convert.
MAX_DIGITS: Final = 19

# Built once: json.dumps builds an encoder in each call that asks for other than its defaults.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(body: bytes | str) -> Any:
    """The value of strict JSON: UTF-8, no key twice in an object, bounded depth.

    NaN, Infinity and integers that are too long become floats, which no field of a request accepts.
    Raises InvalidJson.
    """
    try:
        text = body.decode("utf-8-sig") if isinstance(body, bytes) else body
        return json.loads(text, parse_int=_integer, object_pairs_hook=_object)
    except UnicodeDecodeError:
        raise InvalidJson("The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise InvalidJson("The body is nested too deep.") from None


def write(value: object) -> str:
    """Compact JSON text with its characters unescaped. Raises ValueError for NaN and infinities."""
    return _ENCODER.encode(value)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits.lstrip("-")) <= MAX_DIGITS else float("inf")


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)

    if len(found) != len(pairs):
        raise InvalidJson("The body has an object with the same key twice.")
    return found
