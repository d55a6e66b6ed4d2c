"""How a checkpoint made for embeddings wants its vectors: the files of sentence-transformers.

modules.json names the steps from text to vector. Four can be had here: the encoder, mean or CLS
pooling, one matrix (dense.py), and normalisation, which always happens. Any other step would give
other vectors than the checkpoint's own and is refused. A folder without these files gets the mean
of the text's tokens.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from builder.checkpoint import dense
from builder.checkpoint.dense import Dense
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_list, read_object, read_object_if_any
from fillmask.model.manifest import Pooling

MODES: Final = {"cls": "cls", "cls_token": "cls", "mean": "mean", "mean_tokens": "mean"}
SWITCH: Final = "pooling_mode_"  # begins the options that turn a mode on
LEAST_TOKENS: Final = 3  # [CLS], a token and [SEP]


class Recipe(NamedTuple):
    """How an encoder's texts become vectors, and where that is said."""

    pooling: Pooling
    max_tokens: int | None  # of the longest text it was meant for, [CLS] and [SEP] included
    lowercase: bool  # capitals are folded before the tokenizer, whatever that one says
    origin: str
    length: str  # of the vectors, in words
    dense: Dense | None = None


TEXT_MEAN: Final = Pooling("mean", special_tokens=False)  # [CLS] and [SEP] are not part of the text


def read(folder: Path) -> Recipe:
    """The recipe of a checkpoint folder; raises CheckpointError where it cannot be followed."""
    modules = _modules(folder)
    encoder = encoder_folder(folder)
    limits = read_object_if_any(encoder / "sentence_bert_config.json")
    max_tokens = _max_tokens(encoder, limits)
    lowercase = bool(limits.get("do_lower_case"))

    if not modules:
        return Recipe(
            TEXT_MEAN,
            max_tokens,
            lowercase,
            origin="no modules.json: the mean of the text's tokens, without [CLS] and [SEP]",
            length="always normalised to 1",
        )

    _refuse_options(read_object_if_any(folder / "config_sentence_transformers.json"))
    steps = _steps(modules, folder)
    path = _inside(folder, modules[1]) / "config.json"
    mode = _mode(path)
    return Recipe(
        Pooling(mode, special_tokens=True),
        max_tokens,
        lowercase,
        origin=f"modules.json and {path.relative_to(folder)}",
        length=_length(steps),
        dense=dense.read(_inside(folder, modules[2]), mode) if "Dense" in steps else None,
    )


def encoder_folder(folder: Path) -> Path:
    """Where the encoder itself lies: the folder, or one inside it such as 0_Transformer."""
    modules = _modules(folder)
    return _inside(folder, modules[0]) if modules else folder


def _modules(folder: Path) -> list[dict[str, Any]]:
    path = folder / "modules.json"
    if not path.exists():
        return []

    modules = read_list(path)
    if not modules or not all(isinstance(module, dict) for module in modules):
        raise CheckpointError(f"{path} does not list the steps from text to vector.")
    return modules


def _inside(folder: Path, module: Mapping[str, Any]) -> Path:
    root = folder.resolve()
    path = (folder / str(module.get("path", ""))).resolve()
    if not path.is_relative_to(root):
        raise CheckpointError(f"{folder / 'modules.json'} names a path outside of its folder.")
    return folder / path.relative_to(root)


def _steps(modules: list[dict[str, Any]], folder: Path) -> list[str]:
    """The kinds of the steps; raises CheckpointError for others than can be built."""
    kinds = [_kind(module) for module in modules]
    after = kinds[3:] if kinds[2:3] == ["Dense"] else kinds[2:]
    if kinds[:2] != ["Transformer", "Pooling"] or set(after) - {"Normalize"}:
        raise CheckpointError(
            f"{folder / 'modules.json'} names the steps {', '.join(kinds)}, and only Transformer, "
            "Pooling, Dense and Normalize, in this order, can be built."
        )
    return kinds


def _kind(module: Mapping[str, Any]) -> str:
    """A step of the library's own by its short name, which its versions agree on; others whole."""
    name = str(module.get("type"))
    return name.rpartition(".")[2] if name.startswith("sentence_transformers.") else name


def _length(steps: list[str]) -> str:
    if "Normalize" in steps:
        return "normalised to 1, as the checkpoint does"
    return (
        "always normalised to 1, which the checkpoint does not do: cosines are the same, "
        "dot products are not"
    )


def _max_tokens(encoder: Path, limits: Mapping[str, Any]) -> int | None:
    given = limits.get("max_seq_length")
    if not given:
        given = read_object_if_any(encoder / "tokenizer_config.json").get("model_max_length")
    if given is None:
        return None

    if not isinstance(given, int) or given < LEAST_TOKENS:
        raise CheckpointError(
            f"{encoder} limits its texts to {given!r} tokens, and the minimum is {LEAST_TOKENS}."
        )
    return given


def _mode(path: Path) -> str:
    """The one mode of a pooling's config: by its name, or the one switch that is on."""
    config = read_object(path)
    named = config.get("pooling_mode")
    modes = _switched_on(config) if named is None else [str(named)]
    if len(modes) != 1 or modes[0] not in MODES:
        raise CheckpointError(
            f"{path} asks for the pooling {' + '.join(modes) or 'none'}; only mean or cls can be "
            "built."
        )
    return MODES[modes[0]]


def _switched_on(config: Mapping[str, Any]) -> list[str]:
    """The modes whose switch is on; mean's is on unless something else is said."""
    switches = {"mean_tokens": True}
    for name, value in config.items():
        if name.startswith(SWITCH):
            switches[name.removeprefix(SWITCH)] = bool(value)
    return [mode for mode, on in switches.items() if on]


def _refuse_options(config: Mapping[str, Any]) -> None:
    """Options that make the library's vectors others than those of the text alone."""
    prompt = config.get("default_prompt_name")
    if prompt and (config.get("prompts") or {}).get(prompt, prompt):
        raise CheckpointError(
            f"The checkpoint puts its prompt {prompt!r} before every text, which is not done here."
        )
    if config.get("truncate_dim"):
        raise CheckpointError(
            f"The checkpoint cuts its vectors to {config['truncate_dim']} dimensions; here a "
            "request asks for that."
        )
