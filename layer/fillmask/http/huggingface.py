"""Hugging Face's inference shapes, translated to our operations and back.

What `huggingface_hub.InferenceClient` sends and reads: one list per mask where there are several,
and one per text. As there, targets come back best first, without those that cannot be scored.
"""

from collections.abc import Mapping
from typing import Any

from fillmask.errors import InvalidRequest
from fillmask.operations.service import Service
from fillmask.requests import schema
from fillmask.requests.validate import validate


def fill_mask(service: Service, request: object) -> list[Any]:
    """[{"score", "token", "token_str", "sequence"}], nested per text and mask where several."""
    asked = validate(request, schema.HF_FILL_MASK)
    inputs = asked["inputs"]
    parameters = {
        name: value
        for name, value in asked.get("parameters", {}).items()
        if name in ("top_k", "targets")
    }
    texts = [inputs] if isinstance(inputs, str) else inputs
    results = service.answer("fill-mask", {"texts": texts, **parameters})["results"]
    answers = [_one_text(result, parameters) for result in results]
    return answers[0] if isinstance(inputs, str) else answers


def _one_text(result: dict[str, Any], parameters: dict[str, Any]) -> list[Any]:
    masks = []
    for mask in result["masks"]:
        scored = [row for row in mask["candidates"] if row["score"] is not None]
        if not scored:
            raise InvalidRequest(
                "None of the targets can be scored.",
                errors=[{"field": "parameters.targets", "reason": "have nothing to score"}],
            )
        if "targets" in parameters:
            scored = sorted(scored, key=lambda row: -row["score"])[: parameters.get("top_k")]
        masks.append(
            [
                {
                    "score": row["score"],
                    "token": row["id"],
                    "token_str": row["token"],
                    "sequence": row["sequence"],
                }
                for row in scored
            ]
        )
    return masks[0] if len(masks) == 1 else masks


def feature_extraction(service: Service, request: object) -> list[Any]:
    """The vector of one text, or a list of vectors."""
    asked = validate(request, schema.HF_FEATURES)
    inputs, width = (
        asked["inputs"],
        {name: asked[name] for name in ("dimensions",) if name in asked},
    )
    rows = _answer(service, "embed", {"input": inputs} | width, {"input": "inputs"})["data"]
    return rows[0]["embedding"] if isinstance(inputs, str) else [row["embedding"] for row in rows]


def sentence_similarity(service: Service, request: object) -> list[float]:
    """Cosine of the source sentence with each of the sentences."""
    inputs = validate(request, schema.HF_SIMILARITY)["inputs"]
    answer = _answer(
        service,
        "similarity",
        {"texts": [inputs["source_sentence"]], "against": inputs["sentences"]},
        {"texts[0]": "inputs.source_sentence", "against": "inputs.sentences"},
    )
    matrix: list[list[float]] = answer["matrix"]
    return matrix[0]


def _answer(
    service: Service, operation: str, request: object, names: Mapping[str, str]
) -> dict[str, Any]:
    """The service's answer; fields in its errors get the names by which the caller knows them."""
    try:
        return service.answer(operation, request)
    except InvalidRequest as error:
        errors = [row | {"field": _renamed(row["field"], names)} for row in error.extra["errors"]]
        raise InvalidRequest(error.detail, errors=errors) from None


def _renamed(field: str, names: Mapping[str, str]) -> str:
    return next(
        (new + field.removeprefix(old) for old, new in names.items() if field.startswith(old)),
        field,
    )
