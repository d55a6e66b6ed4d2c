"""The table of status numbers covers every error there is."""

import pytest

from fillmask import errors
from fillmask.errors import FillMaskError, NoMask
from fillmask.problem import TABLE, problem

CONTRACT = {
    "invalid_json": 400,
    "invalid_request": 422,
    "no_mask": 422,
    "too_large": 413,
    "unsupported_media_type": 415,
    "not_found": 404,
    "method_not_allowed": 405,
    "engine_unavailable": 503,
    "deadline_exceeded": 503,
    "internal": 500,
    "unknown_event": 400,
    "operation_unavailable": 404,
}
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, FillMaskError) and value is not errors.Refusal
]


def test_the_table_is_that_of_the_contract() -> None:
    assert {code: status for code, (status, _) in TABLE.items()} == CONTRACT


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_has_a_problem(kind: type[FillMaskError]) -> None:
    assert problem(kind("Why."))["status"] == CONTRACT[kind.code]


def test_a_problem_has_the_members_of_the_rfc_and_the_errors_own() -> None:
    assert problem(NoMask("Text 3 has no [MASK].", index=3, hint=None)) == {
        "type": "urn:problem-type:fillmask:no_mask",
        "title": "A text has no mask",
        "status": 422,
        "detail": "Text 3 has no [MASK].",
        "code": "no_mask",
        "index": 3,
        "hint": None,
    }
