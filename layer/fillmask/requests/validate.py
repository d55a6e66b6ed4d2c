"""Requests checked against the schemas of schema.py.

Knows just the keywords that are used there, and imports nothing: pydantic alone would take a third
of the time to a first answer. Reasons name fields and bounds, never the caller's values.
"""

from collections.abc import Iterator
from typing import Any, Final

from fillmask import limits
from fillmask.errors import InvalidRequest, counted
from fillmask.requests import json_text
from fillmask.requests.schema import Schema

FieldError = dict[str, str]  # {"field", "reason"}; the field is empty for the whole request

# The types of JSON: what Python reads them as, and how an error names them.
TYPES: Final[dict[str, type]] = {
    "null": type(None),
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}
NAMES: Final = {
    "null": "null",
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "boolean": "true or false",
}


def validate(value: object, schema: Schema) -> dict[str, Any]:
    """The fields of a request, with defaults filled in; a null that is allowed counts as absent.

    Raises InvalidRequest with every error, or TooLarge for a list that is over a limit.
    """
    errors = list(_errors(value, schema, ""))

    if errors:
        first = errors[0]
        raise InvalidRequest(
            f"The request has {counted(len(errors), 'error')}; the first: "
            f"{first['field'] or 'the body'} {first['reason']}.",
            errors=errors,
        )

    assert isinstance(value, dict)  # noqa: S101  (every request schema is an object's)
    defaults = {
        name: row["default"] for name, row in schema["properties"].items() if "default" in row
    }
    return defaults | _without_nulls(value)


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nulls(field) if isinstance(field, dict) else field
        for name, field in value.items()
        if field is not None
    }


def _error(field: str, reason: str) -> FieldError:
    return {"field": field, "reason": reason}


def _is(value: object, name: str) -> bool:
    """Whether a value is of a type of JSON; a bool is an integer to Python alone."""
    return isinstance(value, TYPES[name]) and (name != "integer" or not isinstance(value, bool))


def _errors(value: object, schema: Schema, field: str) -> Iterator[FieldError]:
    """The errors of a value and of everything in it."""
    choices = schema.get("anyOf", [schema])
    fitting = next((row for row in choices if _is(value, row["type"])), None)

    if fitting is None:
        names = [NAMES[row["type"]] for row in choices]
        yield _error(field, f"must be {' or '.join(names)}")
    elif isinstance(value, dict):
        yield from _object_errors(value, fitting, field)
    elif isinstance(value, list):
        yield from _list_errors(value, fitting, field)
    elif isinstance(value, str):
        yield from _string_errors(value, fitting, field)
    elif isinstance(value, bool):
        yield from _boolean_errors(value, fitting, field)
    elif isinstance(value, int):
        yield from _integer_errors(value, fitting, field)


def _object_errors(value: dict[str, object], schema: Schema, field: str) -> Iterator[FieldError]:
    known = schema["properties"]
    prefix = f"{field}." if field else ""

    for name in schema.get("required", ()):
        if name not in value:
            yield _error(prefix + name, "is required")

    for name, row in known.items():
        if name in value:
            yield from _errors(value[name], row, prefix + name)

    # The names of unknown fields are the caller's, so they are counted and not repeated.
    unknown = len(value.keys() - known.keys())
    if unknown and not schema.get("additionalProperties", True):
        names = ", ".join(known)
        yield _error(field, f"has {counted(unknown, 'unknown field')}; known are {names}")

    if "oneOf" in schema:
        rivals = [choice["required"][0] for choice in schema["oneOf"]]
        if sum(name in value for name in rivals) != 1:
            yield _error(field, f"must have exactly one of {' and '.join(rivals)}")


def _list_errors(value: list[object], schema: Schema, field: str) -> Iterator[FieldError]:
    least = schema.get("minItems", 0)
    if len(value) < least:
        yield _error(field, f"must have at least {counted(least, 'item')}")

    if "x-limit" in schema:
        limits.check(schema["x-limit"], len(value), f"items of {field}")

    # What is too long is not looked through.
    most = schema.get("maxItems", len(value))
    if len(value) > most:
        yield _error(field, f"must have at most {counted(most, 'item')}")
        return

    for index, item in enumerate(value):
        yield from _errors(item, schema["items"], f"{field}[{index}]")


def _string_errors(value: str, schema: Schema, field: str) -> Iterator[FieldError]:
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        yield _error(field, f"must be one of {', '.join(allowed)}")

    try:
        value.encode()
    except UnicodeEncodeError as error:
        yield _error(field, f"has half of a surrogate pair at character {error.start}")


def _integer_errors(value: int, schema: Schema, field: str) -> Iterator[FieldError]:
    least, most = schema["minimum"], schema["maximum"]
    if not least <= value <= most:
        yield _error(field, f"must be from {least} to {most}")


def _boolean_errors(value: bool, schema: Schema, field: str) -> Iterator[FieldError]:
    wanted = schema.get("const", value)
    if value != wanted:
        yield _error(field, f"must be {json_text.write(wanted)}")
