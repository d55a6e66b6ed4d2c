"""OpenAI's shapes, as its clients send and read them: embeddings, the list of models, errors."""

from typing import Final

from fillmask.adapters import Answer
from fillmask.model.manifest import Manifest
from fillmask.operations.service import Service
from fillmask.requests import schema
from fillmask.requests.validate import validate

OWNER: Final = "fillmask"
UNKNOWN_TIME: Final = 0  # a model folder does not say when it was made


def embeddings(service: Service, request: object) -> Answer:
    """Like the native operation, which has this shape; a null in an optional field is absent."""
    return service.answer("embed", validate(request, schema.OPENAI_EMBED))


def models(manifest: Manifest) -> Answer:
    """The answer of GET /v1/models, by which clients discover what they can ask."""
    model = {
        "id": manifest.id,
        "object": "model",
        "created": UNKNOWN_TIME,
        "owned_by": OWNER,
    }
    return {"object": "list", "data": [model]}


def error_member(problem: Answer) -> Answer:
    """The member `error` of a problem: the only one that OpenAI's clients show to their users."""
    errors = problem.get("errors") or [{}]
    return {
        "message": problem["detail"],
        "type": "invalid_request_error" if problem["status"] < 500 else "server_error",
        "code": problem["code"],
        "param": errors[0].get("field"),
    }
