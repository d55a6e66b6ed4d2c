"""The commands that take the layers from here, with the template's parameters to match."""

from typing import Final

from builder.layers.assemble import DEFAULT_ARCH, DEFAULT_PYTHON, Platform

# Under `sam local` the variables of the table and the queue hold names of the template.
NOTHING_AT_AWS: Final = "layer/env.json"
EVENT: Final = "tests/events/direct.json"


def invoke(platform: Platform) -> list[str]:
    """One event through the function in a container on this machine."""
    local = ["sam", "local", "invoke", "HttpFunction", "-n", NOTHING_AT_AWS, "-e", EVENT]
    return [*local, *_parameters(platform)]


def deploy(platform: Platform) -> list[str]:
    """The stack to AWS, after some questions."""
    sam = ["sam", "deploy", "--guided", "--stack-name", "fillmask"]
    return [*sam, "--capabilities", "CAPABILITY_IAM", *_parameters(platform)]


def _parameters(platform: Platform) -> list[str]:
    """What differs from the template's defaults."""
    changed = []
    if platform.arch != DEFAULT_ARCH:
        changed.append(f"Architecture={platform.arch}")
    if platform.python != DEFAULT_PYTHON:
        changed.append(f"PythonVersion={platform.python}")
    return ["--parameter-overrides", *changed] if changed else []
