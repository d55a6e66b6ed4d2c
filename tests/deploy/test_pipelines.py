"""The examples of layer/deploying.md: what they say is right, and what can be run is run."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import yaml

from builder.layers import options
from builder.layers.__main__ import DESCRIPTION, OUT
from builder.layers.assemble import DEFAULT_ARCH, DEFAULT_PYTHON
from support import pipelines, sam_local
from support.cloudformation import load
from support.paths import ROOT
from support.servers import on_lambda

HCL_ALONE = {"filename", "source_code_hash"}  # the provider's own, for the code
LAYERS = ["runtime", "model", "code"]


@pytest.fixture(scope="module")
def template() -> Any:
    return load(ROOT / "template.yaml")


@pytest.fixture(scope="module")
def hcl() -> Any:
    return pipelines.read_hcl(pipelines.example("hcl"))


def plain(value: Any) -> Any:
    return [plain(each) for each in value] if isinstance(value, list) else str(value).strip('"')


def resource(hcl: Any, kind: str) -> dict[str, Any]:
    """The attributes of the one resource of that kind."""
    (found,) = [each[f'"{kind}"'] for each in hcl["resource"] if f'"{kind}"' in each]
    (attributes,) = found.values()
    return {name: plain(value) for name, value in attributes.items() if name[:2] != "__"}


def test_terraforms_function_has_what_lambdas_api_knows(hcl: Any) -> None:
    function = resource(hcl, "aws_lambda_function")
    client = botocore.session.get_session().get_service_model("lambda")
    known = client.operation_model("CreateFunction").input_shape
    names = {"".join(map(str.title, name.split("_"))) for name in function.keys() - HCL_ALONE}
    assert names <= set(known.members)
    assert {*known.required_members} - {"Code"} <= names
    assert function["runtime"] in known.members["Runtime"].enum
    assert function["layers"] == "${var.layers}"


def test_terraforms_function_is_the_templates(hcl: Any, template: Any) -> None:
    function, parameters = resource(hcl, "aws_lambda_function"), template["Parameters"]
    assert function["handler"] == template["Globals"]["Function"]["Handler"]
    assert function["runtime"] == f"python{parameters['PythonVersion']['Default']}"
    assert function["architectures"] == [parameters["Architecture"]["Default"]]
    assert function["memory_size"] == str(parameters["MemorySize"]["Default"])
    (archive,) = [each['"archive_file"']['"function"'] for each in hcl["data"]]
    assert plain(archive["source_dir"]) == template["Globals"]["Function"]["CodeUri"]


@pytest.mark.slow
def test_the_cdk_makes_a_stack_of_the_layers(template: Any, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(pipelines.example("python"), "utf-8")
    pipelines.synthesize(app, sam_local.project(), tmp_path / "out")
    made = tmp_path / "out" / "fillmask.template.json"

    resources = json.loads(made.read_text("utf-8"))["Resources"]
    (function,) = [
        each["Properties"] for each in resources.values() if each["Type"] == "AWS::Lambda::Function"
    ]
    named = [each["Ref"].rstrip("0123456789ABCDEF") for each in function["Layers"]]
    assert named == LAYERS
    assert function["Handler"] == template["Globals"]["Function"]["Handler"]
    assert function["MemorySize"] == template["Parameters"]["MemorySize"]["Default"]
    assert pipelines.lint(made) == ""

    broken = tmp_path / "broken.json"
    broken.write_text(made.read_text("utf-8").replace('"MemorySize"', '"MemorySise"'), "utf-8")
    assert "MemorySise" in pipelines.lint(broken)


@pytest.fixture(scope="module")
def steps() -> dict[str, str]:
    """The commands of the CI job by the names of its steps."""
    job = yaml.safe_load(pipelines.example("yaml"))["jobs"]["deploy"]
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def test_the_job_goes_from_the_layers_to_a_question(steps: dict[str, str]) -> None:
    assert [*steps] == ["layers", "package", "deploy", "smoke"]
    script, task, *given = shlex.split(steps["layers"])
    assert (script, task) == ("./build.sh", "layer")
    asked = options.parser(task, DESCRIPTION, OUT).parse_args(given)
    assert (asked.python, asked.arch) == (DEFAULT_PYTHON, DEFAULT_ARCH)


@pytest.mark.parametrize("task", ["package", "deploy"])
def test_sam_has_the_options_of_the_job(steps: dict[str, str], task: str) -> None:
    sam, named, *words = shlex.split(steps[task])
    assert (sam, named) == ("sam", task)
    assert {word for word in words if word.startswith("--")} <= pipelines.sam_options(task)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with on_lambda() as served:
        yield served


@pytest.mark.curl
@pytest.mark.parametrize(("path", "code"), [("", 0), pytest.param("/x", 1, marks=pytest.mark.slow)])
def test_the_first_question_tells_a_good_deployment_from_a_bad_one(
    steps: dict[str, str], url: str, path: str, code: int
) -> None:
    """A bad one is asked four times before it counts as bad."""
    asked = subprocess.run(
        ["bash", "-e", "-c", steps["smoke"]],
        env=os.environ | {"URL": url + path},
        capture_output=True,
        check=False,
    )
    assert asked.returncode == code
