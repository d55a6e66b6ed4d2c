"""What a request may hold, as data: JSON Schemas.

validate.py checks requests against them, and the OpenAPI document publishes them. `x-limit` names
the limit of limits.py that a list is under.
"""

from collections.abc import Mapping
from typing import Any, Final

from fillmask import limits

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
FILL_MASK: Final[Schema] = {
    "type": "object",
    "properties": {
        "text": {
            "type": "string",
            "pattern": r"\[MASK\]",
            "description": "One text with at least one [MASK].",
        },
        "texts": {
            "type": "array",
            "items": {"type": "string", "pattern": r"\[MASK\]"},
            "minItems": 1,
            "maxItems": limits.MAX_TEXTS,
            "x-limit": "texts",
            "description": "Several texts, each with at least one [MASK].",
        },
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": limits.MAX_TOP_K,
            "default": 5,
            "description": "Candidates per mask.",
        },
        "targets": {
            "type": "array",
            "items": TEXT,
            "minItems": 1,
            "maxItems": limits.MAX_TARGETS,
            "description": "Score only these, in this order.",
        },
        "mode": {
            "type": "string",
            "enum": ["independent", "joint"],
            "default": "independent",
            "description": "Each mask on its own, or whole fillings ranked together as well.",
        },
        "lowercase": {
            "type": "boolean",
            "description": "Fold Latin capitals before the model sees them. "
            "The default is the model's own.",
        },
        "include_subwords": {
            "type": "boolean",
            "default": False,
            "description": "Also return continuation pieces (##).",
        },
    },
    "additionalProperties": False,
    "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
}
EMBED: Final[Schema] = {
    "type": "object",
    "properties": {
        "input": {
            "anyOf": [
                TEXT,
                {
                    "type": "array",
                    "items": TEXT,
                    "minItems": 1,
                    "maxItems": limits.MAX_INPUTS,
                    "x-limit": "inputs",
                },
            ],
            "description": "One text or several, each with a character the model can see.",
        },
        "model": {"type": "string", "description": "Accepted and ignored: there is one model."},
        "encoding_format": {
            "type": "string",
            "enum": ["float", "base64"],
            "default": "float",
            "description": "Numbers, or base64 of little-endian float32.",
        },
        "dimensions": {
            "type": "integer",
            "minimum": 1,
            "maximum": 4096,
            "description": "Keep only the first dimensions, at most as many as the model has, and "
            "normalise again.",
        },
        "user": {"type": "string", "description": "Accepted and ignored."},
    },
    "required": ["input"],
    "additionalProperties": False,
}


def lenient(schema: Schema) -> Schema:
    """The same, with null allowed in every optional field, where clients write it for "absent"."""
    required = schema.get("required", ())
    properties = {
        name: row if name in required else _nullable(row)
        for name, row in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _nullable(row: Schema) -> Schema:
    """A field that may be null; its description and default stay where they are looked for."""
    if row.get("type") == "null":
        return row
    kept = {name: row[name] for name in ("description", "default") if name in row}
    return {"anyOf": [*row.get("anyOf", [row]), {"type": "null"}], **kept}


OPENAI_EMBED: Final = lenient(EMBED)
TEXT_LIST: Final[dict[str, Any]] = {
    "type": "array",
    "items": TEXT,
    "minItems": 1,
    "maxItems": limits.MAX_TEXTS,
    "x-limit": "texts",
}
SIMILARITY: Final[Schema] = {
    "type": "object",
    "properties": {
        "texts": TEXT_LIST | {"description": "The rows of the matrix."},
        "against": TEXT_LIST | {"description": "Its columns; by default, the texts themselves."},
    },
    "required": ["texts"],
    "additionalProperties": False,
}
HF_OPTIONS: Final[Schema] = {
    "type": "object",
    "properties": {},
    "description": "Accepted and ignored.",
}
HF_FILL_PARAMETERS: Final[Schema] = {
    "type": "object",
    "properties": {
        "top_k": FILL_MASK["properties"]["top_k"],
        "targets": {
            "anyOf": [TEXT, FILL_MASK["properties"]["targets"]],
            "description": "Score only these.",
        },
    },
}
HF_FILL_MASK: Final = lenient(
    {
        "type": "object",
        "properties": {
            "inputs": {
                "anyOf": [FILL_MASK["properties"]["text"], FILL_MASK["properties"]["texts"]]
            },
            "parameters": lenient(HF_FILL_PARAMETERS),
            "options": HF_OPTIONS,
        },
        "required": ["inputs"],
    }
)
HF_FEATURES: Final = lenient(
    {
        "type": "object",
        "properties": {
            "inputs": EMBED["properties"]["input"],
            "dimensions": EMBED["properties"]["dimensions"],
            "normalize": {
                "type": "boolean",
                "const": True,
                "description": "Vectors always have length 1.",
            },
            "prompt_name": {"type": "null", "description": "Prompts are yours to prepend."},
            "parameters": HF_OPTIONS,
            "options": HF_OPTIONS,
        },
        "required": ["inputs"],
    }
)
HF_SIMILARITY: Final = lenient(
    {
        "type": "object",
        "properties": {
            "inputs": {
                "type": "object",
                "required": ["source_sentence", "sentences"],
                "properties": {"source_sentence": TEXT, "sentences": TEXT_LIST},
            },
            "parameters": HF_OPTIONS,
            "options": HF_OPTIONS,
        },
        "required": ["inputs"],
    }
)
