"""The commands that `./build.sh layer` prints, and the variables that `sam local` is given."""

import json

from builder.layers import commands
from builder.layers.assemble import DEFAULT_ARCH, DEFAULT_PYTHON, ROOT, Platform
from support.cloudformation import load


def test_parameters_are_named_only_where_they_differ_from_the_templates() -> None:
    usual = Platform(DEFAULT_ARCH, DEFAULT_PYTHON, None)
    arm64 = Platform("arm64", "3.12", None)
    changed = ["--parameter-overrides", "Architecture=arm64", "PythonVersion=3.12"]
    for command in (commands.invoke, commands.deploy):
        assert command(arm64) == [*command(usual), *changed]
    template = load(ROOT / "template.yaml")
    assert {word.split("=")[0] for word in changed[1:]} < set(template["Parameters"])


def test_the_commands_name_what_is_there() -> None:
    template = load(ROOT / "template.yaml")
    words = commands.invoke(Platform(DEFAULT_ARCH, DEFAULT_PYTHON, None))
    assert words[3] in template["Resources"]
    assert all((ROOT / words[words.index(option) + 1]).is_file() for option in ("-n", "-e"))


def test_under_sam_local_no_variable_holds_the_name_of_a_resource() -> None:
    """SAM puts names of the template where the function expects those of a table and a queue."""
    template = load(ROOT / "template.yaml")
    resources = template["Resources"]
    holders = [
        template["Globals"]["Function"],
        *(each["Properties"] for each in resources.values()),
    ]
    named = {
        variable
        for holder in holders
        for variable, value in holder.get("Environment", {}).get("Variables", {}).items()
        if isinstance(value, dict) and value.get("Ref") in resources
    }
    given = json.loads((ROOT / commands.NOTHING_AT_AWS).read_text("utf-8"))
    assert given == {"Parameters": dict.fromkeys(named, "")}
    assert len(named) == 2
