"""Requests checked against the schemas of schema.py.

The validator knows just the keywords used there and needs no import: pydantic alone would cost a third of
the time to a first answer. Reasons name fields and bounds, never the caller's values.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from fillmask import limits
from fillmask.errors import InvalidRequest, counted
from fillmask.requests.schema import Schema


def validate(value: object, schema: Schema) -> dict[str, Any]:
    """The request with defaults filled in; raise InvalidRequest with every error, or TooLarge for a list of
    texts over its limit."""
    errors = [{"field": field, "reason": reason} for field, reason in _errors(value, schema, "")]
    if errors:
        raise InvalidRequest(
            f"The request has {counted(len(errors), 'error')}; the first: "
            f"{errors[0]['field'] or 'the body'} {errors[0]['reason']}.",
            errors=errors,
        )
    assert isinstance(value, dict)  # noqa: S101  (every request schema is an object's)
    defaults = {
        name: row["default"] for name, row in schema["properties"].items() if "default" in row
    }
    return defaults | value


def _errors(value: object, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if "anyOf" in schema:
        yield from _any_of(value, schema["anyOf"], field)
        return
    wanted = schema["type"]
    if not _TYPES[wanted](value):
        yield field, f"must be {_NAMES[wanted]}"
        return
    for keyword, check in _CHECKS.items():
        if keyword in schema:
            yield from check(value, schema, field)


def _any_of(value: object, choices: list[Schema], field: str) -> Iterator[tuple[str, str]]:
    """The errors of the choice whose type fits, or one that names all types."""
    for choice in choices:
        if _TYPES[choice["type"]](value):
            yield from _errors(value, choice, field)
            return
    yield field, "must be " + " or ".join(_NAMES[choice["type"]] for choice in choices)


def _properties(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    known = schema["properties"]
    field = f"{field}." if field else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{field}{name}", "is required"
    for name, row in known.items():
        if name in value:
            yield from _errors(value[name], row, f"{field}{name}")
    if not schema.get("additionalProperties", True) and (
        unknown := len(value.keys() - known.keys())
    ):
        yield (
            field.rstrip("."),
            f"has {counted(unknown, 'unknown field')}; known are {', '.join(known)}",
        )


def _one_of(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    names = [choice["required"][0] for choice in schema["oneOf"]]
    if sum(name in value for name in names) != 1:
        yield field, f"must have exactly one of {' and '.join(names)}"


def _items(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if len(value) < schema.get("minItems", 0):
        yield field, f"must have at least {counted(schema['minItems'], 'item')}"
    if "x-limit" in schema:
        limits.check(schema["x-limit"], len(value), f"items of {field}")
    if len(value) > schema.get("maxItems", len(value)):
        yield field, f"must have at most {schema['maxItems']} items"
        return
    for index, item in enumerate(value):
        yield from _errors(item, schema["items"], f"{field}[{index}]")


def _bounds(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if not schema["minimum"] <= value <= schema["maximum"]:
        yield field, f"must be from {schema['minimum']} to {schema['maximum']}"


def _enum(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if value not in schema["enum"]:
        yield field, f"must be one of {', '.join(schema['enum'])}"


def _const(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if value != schema["const"]:
        yield field, f"must be {json.dumps(schema['const'])}"


def _text(value: Any, schema: Schema, field: str) -> Iterator[tuple[str, str]]:
    if schema["type"] == "string" and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            yield field, f"has half of a surrogate pair at character {error.start}"


_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}
_NAMES: Final = {
    "null": "null",
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "boolean": "true or false",
}
_CHECKS: Final[dict[str, Callable[[Any, Schema, str], Iterator[tuple[str, str]]]]] = {
    "properties": _properties,
    "oneOf": _one_of,
    "items": _items,
    "minimum": _bounds,
    "enum": _enum,
    "const": _const,
    "type": _text,
}
