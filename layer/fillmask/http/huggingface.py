"""Hugging Face's inference shapes, translated to our operations and back.

What `huggingface_hub.InferenceClient` sends and reads: one list per mask where there are several,
and one per text. As there, targets come back best first, without those that cannot be scored.
"""

from collections.abc import Mapping
from typing import Any, Final

from fillmask.adapters import Answer
from fillmask.errors import InvalidRequest
from fillmask.operations.service import Service
from fillmask.requests import schema
from fillmask.requests.validate import validate

FILL_PARAMETERS: Final = ("top_k", "targets")

Fields = Mapping[str, Any]  # of a request that passed its schema
Rows = list[Answer]
OneText = Rows | list[Rows]  # one list per mask where there are several


def error_member(problem: Answer) -> str:
    """The member `error` of a problem, which Hugging Face's clients show to their users."""
    return str(problem["detail"])


def fill_mask(service: Service, request: object) -> OneText | list[OneText]:
    """[{"score", "token", "token_str", "sequence"}], nested per text and mask where several."""
    fields = validate(request, schema.HF_FILL_MASK)
    inputs = fields["inputs"]
    one_text = isinstance(inputs, str)
    sent = fields.get("parameters", {})
    parameters = {name: sent[name] for name in FILL_PARAMETERS if name in sent}
    if isinstance(parameters.get("targets"), str):
        parameters["targets"] = [parameters["targets"]]

    native = {"texts": [inputs] if one_text else inputs, **parameters}
    results = service.answer("fill-mask", native)["results"]

    answers = [_one_text(result, parameters) for result in results]
    return answers[0] if one_text else answers


def feature_extraction(service: Service, request: object) -> list[float] | list[list[float]]:
    """The vector of one text, or a list of vectors."""
    fields = validate(request, schema.HF_FEATURES)

    native = {"input": fields["inputs"]}
    if "dimensions" in fields:
        native["dimensions"] = fields["dimensions"]
    rows = _answer(service, "embed", native, {"input": "inputs"})["data"]

    vectors = [row["embedding"] for row in rows]
    return vectors[0] if isinstance(fields["inputs"], str) else vectors


def sentence_similarity(service: Service, request: object) -> list[float]:
    """Cosine of the source sentence with each of the sentences."""
    inputs = validate(request, schema.HF_SIMILARITY)["inputs"]

    native = {"texts": [inputs["source_sentence"]], "against": inputs["sentences"]}
    names = {"texts[0]": "inputs.source_sentence", "against": "inputs.sentences"}
    matrix: list[list[float]] = _answer(service, "similarity", native, names)["matrix"]
    return matrix[0]


def _one_text(result: Answer, parameters: Fields) -> OneText:
    masks = [_one_mask(mask["candidates"], parameters) for mask in result["masks"]]
    return masks[0] if len(masks) == 1 else masks


def _one_mask(candidates: Rows, parameters: Fields) -> Rows:
    scored = [row for row in candidates if row["score"] is not None]
    if not scored:
        raise InvalidRequest(
            "None of the targets can be scored.",
            errors=[{"field": "parameters.targets", "reason": "have nothing to score"}],
        )

    # Our own API returns targets in the order of the request, and all of them.
    if "targets" in parameters:
        scored.sort(key=lambda row: row["score"], reverse=True)
        scored = scored[: parameters.get("top_k")]
    return [_candidate(row) for row in scored]


def _candidate(row: Answer) -> Answer:
    return {
        "score": row["score"],
        "token": row["id"],
        "token_str": row["token"],
        "sequence": row["sequence"],
    }


def _answer(service: Service, operation: str, native: Answer, names: Mapping[str, str]) -> Answer:
    """The service's answer; fields in its errors get the names by which the caller knows them."""
    try:
        return service.answer(operation, native)
    except InvalidRequest as error:
        errors = [row | {"field": _renamed(row["field"], names)} for row in error.extra["errors"]]
        raise InvalidRequest(error.detail, errors=errors) from None


def _renamed(field: str, names: Mapping[str, str]) -> str:
    for ours, theirs in names.items():
        if field.startswith(ours):
            return theirs + field.removeprefix(ours)
    return field
