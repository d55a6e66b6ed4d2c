"""template.yaml against the code it deploys: settings, layers, rights, time-outs."""

import re
from pathlib import Path
from typing import Any

import pytest

from builder.layers import assemble as layers
from builder.layers import wheels
from fillmask.settings import ROWS, Settings
from support import sam_cli
from support.cloudformation import load, refs

TEMPLATE = layers.ROOT / "template.yaml"
FUNCTIONS = ("HttpFunction", "QueueFunction")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return load(TEMPLATE)


def properties(template: dict[str, Any], name: str) -> dict[str, Any]:
    found = template["Resources"][name]["Properties"]
    assert isinstance(found, dict)
    return found


def environment(template: dict[str, Any], function: str) -> dict[str, Any]:
    """A function's variables as SAM merges them, with parameters replaced by their defaults."""
    shared = template["Globals"]["Function"]["Environment"]["Variables"]
    own = properties(template, function).get("Environment", {}).get("Variables", {})
    merged = {**shared, **own}
    defaults = {
        name: str(parameter["Default"]) for name, parameter in template["Parameters"].items()
    }
    return {
        name: defaults.get(value["Ref"], value) if isinstance(value, dict) else value
        for name, value in merged.items()
    }


def statements(template: dict[str, Any], role: str) -> list[dict[str, Any]]:
    policies = properties(template, role)["Policies"]
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_setting_is_a_variable_of_both_functions(
    template: dict[str, Any], function: str
) -> None:
    names = {row.variable for row in ROWS}
    assert set(environment(template, function)) == names | {"ORT_DISABLE_TELEMETRY"}
    assert environment(template, function)["ORT_DISABLE_TELEMETRY"] == "1"


def test_a_stack_without_parameters_has_the_settings_defaults(template: dict[str, Any]) -> None:
    for function in FUNCTIONS:
        variables = environment(template, function)
        literal = {name: value for name, value in variables.items() if isinstance(value, str)}
        defaults = {row.variable: row.default for row in ROWS}
        assert {name: literal[name] for name in defaults if name in literal} == {
            name: default for name, default in defaults.items() if name in literal
        }
        assert Settings.from_env(literal) == Settings.from_env({})
    assert environment(template, "HttpFunction")["FILLMASK_TABLE"] == {"Ref": "CacheTable"}
    assert environment(template, "HttpFunction")["FILLMASK_RESULT_QUEUE_URL"] == ""
    assert environment(template, "QueueFunction")["FILLMASK_RESULT_QUEUE_URL"] == {
        "Ref": "ResultQueue"
    }


def test_layers_and_function_are_what_the_builder_makes(template: dict[str, Any]) -> None:
    globals_ = template["Globals"]["Function"]
    places = {"function": globals_["CodeUri"]}
    for reference in globals_["Layers"]:
        layer = properties(template, reference["Ref"])
        places[reference["Ref"].removesuffix("Layer").lower()] = layer["ContentUri"]
        assert layer["PublishLambdaVersion"] is True
    platform = layers.Platform(layers.DEFAULT_ARCH, layers.DEFAULT_PYTHON, None)
    built = layers.parts(layers.ROOT, layers.default_model(), platform)
    assert places == {part.name: f".build/{part.place}" for part in built}
    assert globals_["Handler"] == "handler.handler"
    for function in FUNCTIONS:
        assert not {"CodeUri", "Layers", "Handler", "Runtime"} & set(properties(template, function))


def test_the_stack_and_the_builder_agree_on_the_default_target(template: dict[str, Any]) -> None:
    parameters = template["Parameters"]
    assert parameters["PythonVersion"]["Default"] == layers.DEFAULT_PYTHON
    assert parameters["Architecture"]["Default"] == layers.DEFAULT_ARCH
    assert sorted(parameters["Architecture"]["AllowedValues"]) == sorted(wheels.MACHINES)


def test_each_function_may_do_only_what_it_does(template: dict[str, Any]) -> None:
    cache = (("dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"), "CacheTable.Arn")
    logs = ("logs:CreateLogStream", "logs:PutLogEvents")
    receive = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
    wanted = {
        "HttpRole": {cache, (logs, "HttpLogGroup.Arn")},
        "QueueRole": {
            cache,
            (logs, "QueueLogGroup.Arn"),
            (receive, "RequestQueue.Arn"),
            (("sqs:SendMessage",), "ResultQueue.Arn"),
        },
    }
    for role, rights in wanted.items():
        found = set()
        for statement in statements(template, role):
            actions = statement["Action"]
            assert statement["Effect"] == "Allow"
            found.add(
                (
                    tuple([actions] if isinstance(actions, str) else actions),
                    statement["Resource"]["Fn::GetAtt"],
                )
            )
        assert found == rights
        assert "ManagedPolicyArns" not in properties(template, role)
    assert properties(template, "HttpFunction")["Role"] == {"Fn::GetAtt": "HttpRole.Arn"}
    assert properties(template, "QueueFunction")["Role"] == {"Fn::GetAtt": "QueueRole.Arn"}


def test_no_policy_names_every_resource() -> None:
    text = TEMPLATE.read_text("utf-8")
    assert not re.search(r"""Resource:\s*(\[\s*)?["']?\*""", text)
    for allow in text.split("Effect: Allow")[1:]:
        assert "*" not in allow.split("Resource:")[0].split("Principal:")[0]


def test_a_message_stays_hidden_while_it_is_worked_on(template: dict[str, Any]) -> None:
    function = properties(template, "QueueFunction")
    source = function["Events"]["Requests"]["Properties"]
    hidden = properties(template, "RequestQueue")["VisibilityTimeout"]
    assert hidden >= 6 * function["Timeout"] + source["MaximumBatchingWindowInSeconds"]
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["Queue"] == {"Fn::GetAtt": "RequestQueue.Arn"}


def test_every_queue_is_encrypted_and_refuses_plain_http(template: dict[str, Any]) -> None:
    resources = template["Resources"]
    queues = {name for name, resource in resources.items() if resource["Type"] == "AWS::SQS::Queue"}
    assert queues == {"RequestQueue", "DeadLetterQueue", "ResultQueue"}
    for queue in queues:
        assert properties(template, queue)["SqsManagedSseEnabled"] is True
        policy = properties(template, f"{queue}Policy")
        assert policy["Queues"] == [{"Ref": queue}]
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Effect"] == "Deny"
        assert statement["Resource"] == {"Fn::GetAtt": f"{queue}.Arn"}
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_what_fails_again_and_again_is_kept_in_the_dead_letter_queue(
    template: dict[str, Any],
) -> None:
    requests, dead = properties(template, "RequestQueue"), properties(template, "DeadLetterQueue")
    assert requests["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": "DeadLetterQueue.Arn"}
    assert requests["RedrivePolicy"]["maxReceiveCount"] >= 3
    assert dead["MessageRetentionPeriod"] > requests["MessageRetentionPeriod"]
    (source,) = dead["RedriveAllowPolicy"]["sourceQueueArns"]
    assert (
        source["Fn::Sub"].removeprefix(
            "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:"
        )
        == requests["QueueName"]["Fn::Sub"]
    )


def test_the_table_is_the_cache_the_code_expects(template: dict[str, Any]) -> None:
    table = properties(template, "CacheTable")
    assert table["KeySchema"] == [{"AttributeName": "k", "KeyType": "HASH"}]
    assert table["AttributeDefinitions"] == [{"AttributeName": "k", "AttributeType": "S"}]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "t", "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["SSESpecification"] == {"SSEEnabled": True}


def test_a_changed_parameter_is_a_new_version_of_the_http_function(
    template: dict[str, Any],
) -> None:
    function = properties(template, "HttpFunction")
    told = refs(function["VersionDescription"])
    # The alias, not the version, holds the provisioned instances.
    own = {
        name: value for name, value in function.items() if name != "ProvisionedConcurrencyConfig"
    }
    reached = refs(own) | refs(template["Globals"]["Function"]) | {"SnapStart"}
    assert told == reached & set(template["Parameters"])
    longest = {
        name: parameter.get("MaxLength", 9) for name, parameter in template["Parameters"].items()
    }
    text = function["VersionDescription"]["Fn::Sub"]
    assert (
        len(re.sub(r"\$\{(\w+)\}", lambda found: "x" * longest[found[1]], text)) <= 256
    )  # Lambda's limit


def test_what_costs_extra_is_off_unless_asked_for(template: dict[str, Any]) -> None:
    parameters, resources = template["Parameters"], template["Resources"]
    assert (
        parameters["ProvisionedConcurrency"]["Default"],
        parameters["SnapStart"]["Default"],
    ) == (0, "off")
    assert parameters["WarmUpSchedule"]["Default"] == ""
    function = properties(template, "HttpFunction")
    assert function["SnapStart"] == {
        "ApplyOn": {"Fn::If": ["UseSnapStart", "PublishedVersions", "None"]}
    }
    assert function["ProvisionedConcurrencyConfig"]["Fn::If"][2] == {"Ref": "AWS::NoValue"}
    assert (
        resources["WarmUpRule"]["Condition"]
        == resources["WarmUpPermission"]["Condition"]
        == "UseWarmUp"
    )
    assert properties(template, "WarmUpRule")["Targets"][0]["Input"] == '{"warmup": true}'


def test_logs_are_json_and_end_some_day(template: dict[str, Any]) -> None:
    for name in FUNCTIONS:
        function = properties(template, name)
        group = function["LoggingConfig"]["LogGroup"]["Ref"]
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        assert properties(template, group)["RetentionInDays"] == {"Ref": "LogRetentionDays"}
        assert "Tracing" not in function


def test_the_application_answers_cors_and_not_the_api(template: dict[str, Any]) -> None:
    assert "CorsConfiguration" not in properties(template, "HttpApi")
    event = properties(template, "HttpFunction")["Events"]["Any"]["Properties"]
    assert event == {
        "ApiId": {"Ref": "HttpApi"},
        "PayloadFormatVersion": "2.0",
    }  # no path: every path


@pytest.mark.slow
@pytest.mark.sam_cli
def test_sam_validates_the_template(tmp_path: Path) -> None:
    checked = sam_cli.validate(TEMPLATE, tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    broken = tmp_path / "template.yaml"
    broken.write_text(
        TEMPLATE.read_text("utf-8").replace("RedrivePolicy:", "RedrivePolice:"), "utf-8"
    )
    assert sam_cli.validate(broken, tmp_path).returncode != 0
