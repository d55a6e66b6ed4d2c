"""Reads a CloudFormation template as plain data, for the tests that compare it with the code."""

import re
from pathlib import Path
from typing import Any

import yaml


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms written out: !Ref X becomes {"Ref": "X"}."""


def _short_form(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix == "Ref" else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    raise AssertionError(f"!{suffix} holds neither a scalar nor a list")


Loader.add_multi_constructor("!", _short_form)


def load(template: Path) -> dict[str, Any]:
    """The template, with its short forms written out."""
    loaded = yaml.load(template.read_text("utf-8"), Loader)  # noqa: S506 - a SafeLoader
    assert isinstance(loaded, dict)
    return loaded


def refs(value: Any) -> set[str]:
    """The names behind every Ref and ${...} in `value`."""
    if isinstance(value, dict):
        direct = {value["Ref"]} if "Ref" in value else set()
        text = value.get("Fn::Sub")
        named = set(re.findall(r"\$\{([A-Za-z]+)\}", text)) if isinstance(text, str) else set()
        return direct | named | {name for item in value.values() for name in refs(item)}
    if isinstance(value, list):
        return {name for item in value for name in refs(item)}
    return set()
