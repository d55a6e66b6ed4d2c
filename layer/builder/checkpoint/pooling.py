"""What a checkpoint made for embeddings says of its vectors: the files that sentence-transformers writes.

modules.json names the steps from text to vector. Three can be had here: the encoder, mean or CLS pooling, and
normalisation, which always happens. Any other step would give other vectors than the checkpoint's own and is
refused. It reads names and options, no tensors; a folder without these files gets the mean of the text's tokens.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from builder.checkpoint.reading import CheckpointError, read_json

MODES = {"cls": "cls", "cls_token": "cls", "mean": "mean", "mean_tokens": "mean"}
PREFIX = "pooling_mode_"
TEXT_MEAN = {"mode": "mean", "special_tokens": False}  # [CLS] and [SEP] are not part of the text


class Recipe(NamedTuple):
    """How an encoder's hidden states become a vector."""

    pooling: dict[str, Any]  # as in the manifest
    max_tokens: (
        int | None
    )  # the longest text the encoder was meant to see, [CLS] and [SEP] included
    lowercase: bool  # capitals are folded before the tokenizer, whatever that one says
    report: dict[str, str]  # where this comes from, for people


def encoder_folder(folder: Path) -> Path:
    """Where the encoder itself lies: the folder, or a part of it such as 0_Transformer."""
    modules = _modules(folder)
    return _inside(folder, modules[0]) if modules else folder


def read(folder: Path) -> Recipe:
    """The recipe of a checkpoint folder; raise CheckpointError for one that cannot be followed."""
    modules = _modules(folder)
    encoder = encoder_folder(folder)
    limits = _optional(encoder / "sentence_bert_config.json")
    longest, lowercase = _longest(encoder, limits), bool(limits.get("do_lower_case"))
    if not modules:
        return Recipe(
            TEXT_MEAN,
            longest,
            lowercase,
            {
                "from": "no modules.json: the mean of the text's tokens, without [CLS] and [SEP]",
                "length": "always normalised to 1",
            },
        )
    _refuse_options(_optional(folder / "config_sentence_transformers.json"))
    kinds = [_kind(module) for module in modules]
    if kinds[0] != "Transformer" or kinds[1:2] != ["Pooling"] or set(kinds[2:]) - {"Normalize"}:
        raise CheckpointError(
            f"{folder / 'modules.json'} names the steps {', '.join(kinds)}, and only Transformer, Pooling and "
            "Normalize, in this order, can be built."
        )
    path = _inside(folder, modules[1]) / "config.json"
    normal = (
        "normalised to 1, as the checkpoint does"
        if "Normalize" in kinds
        else (
            "always normalised to 1, which the checkpoint does not do: cosines are the same, dot products are not"
        )
    )
    return Recipe(
        {"mode": _mode(path), "special_tokens": True},
        longest,
        lowercase,
        {"from": f"modules.json and {path.relative_to(folder)}", "length": normal},
    )


def _longest(encoder: Path, limits: Mapping[str, Any]) -> int | None:
    given = limits.get("max_seq_length") or _optional(encoder / "tokenizer_config.json").get(
        "model_max_length"
    )
    if given is not None and (not isinstance(given, int) or given < 3):
        raise CheckpointError(
            f"{encoder} limits its texts to {given!r} tokens, and 3 is the least."
        )
    return given


def _modules(folder: Path) -> list[Any]:
    path = folder / "modules.json"
    if not path.exists():
        return []
    modules = read_json(path, list)
    if not modules or not all(isinstance(module, dict) for module in modules):
        raise CheckpointError(f"{path} does not list the steps from text to vector.")
    return list(modules)


def _inside(folder: Path, module: Mapping[str, Any]) -> Path:
    path = (folder / str(module.get("path", ""))).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise CheckpointError(f"{folder / 'modules.json'} names a path outside of its folder.")
    return folder / path.relative_to(folder.resolve())


def _kind(module: Mapping[str, Any]) -> str:
    """The library's own steps by their short name, which its versions agree on; others by their full one."""
    name = str(module.get("type"))
    return name.rpartition(".")[2] if name.startswith("sentence_transformers.") else name


def _mode(path: Path) -> str:
    """The one pooling mode of a config: a name of its own, or one true switch of several (mean when none is said)."""
    config = read_json(path)
    named = config.get("pooling_mode")
    switches = {"mean_tokens": True} | {
        name.removeprefix(PREFIX): value
        for name, value in config.items()
        if name.startswith(PREFIX)
    }
    on = [name for name, value in switches.items() if value] if named is None else [named]
    found = on[0] if len(on) == 1 else on
    if not isinstance(found, str) or found not in MODES:
        raise CheckpointError(
            f"{path} asks for the pooling {' + '.join(map(str, on)) or 'none'}; only mean or cls can be built."
        )
    return MODES[found]


def _refuse_options(config: Mapping[str, Any]) -> None:
    """Options that make the library's vectors others than those of the text alone."""
    prompt = config.get("default_prompt_name")
    if prompt and (config.get("prompts") or {}).get(prompt, prompt):
        raise CheckpointError(
            f"The checkpoint puts its prompt {prompt!r} before every text, which is not done here."
        )
    if config.get("truncate_dim"):
        raise CheckpointError(
            f"The checkpoint cuts its vectors to {config['truncate_dim']} dimensions; here a request asks for that."
        )


def _optional(path: Path) -> dict[str, Any]:
    return dict(read_json(path)) if path.exists() else {}
