"""The steps of a tokenizer.json: those of BERT are followed, and any other is refused by name."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object_if_any

STEPS: Final = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
# Members of a WordPiece model, and the values that are followed.
MODEL: Final = {
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}


def check(path: Path) -> None:
    """Raises CheckpointError where a tokenizer.json has a step that BERT's tokenizer has not.

    A step before or after BERT's changes the tokens, so leaving it out would give wrong answers. A
    file that says nothing of a step, or that is not there, has BERT's.
    """
    content = read_object_if_any(path)
    model = content.get("model") or {}
    if not isinstance(model, dict):
        raise CheckpointError(f"{path} does not list tokens and their ids.")
    if model.get("type", "WordPiece") != "WordPiece":
        raise CheckpointError(f"{path} is a {model['type']} tokenizer, not WordPiece.")

    for name, value in MODEL.items():
        if model.get(name, value) != value:
            raise CheckpointError(
                f"{path} gives {model[name]!r} as {name}, and only {value!r} can be built."
            )
    for part, usual in STEPS.items():
        found = list(_steps(content[part])) if part in content else [usual]
        if found != [usual]:
            raise CheckpointError(
                f"{path} has the {part} {' + '.join(found) or 'null'}, and only {usual} can be "
                "built."
            )


def _steps(step: Any) -> Iterator[str]:
    """The types of a step and of those inside it."""
    if not isinstance(step, Mapping):
        return
    if step.get("type") != "Sequence":
        yield str(step.get("type"))
        return
    for inner in step.get("normalizers") or step.get("pretokenizers") or ():
        yield from _steps(inner)
