"""Environment variables and references to fields."""

import pytest

from mockkube.api.kinds.core.pod.containers.env import (
    EnvValidationOptions,
    validate_env,
    validate_env_from,
    validate_field_reference,
    validate_resource_reference,
)


def judge(variable, rules=EnvValidationOptions()):  # noqa: B008 - frozen
    return [
        f"{error.field}: {error.message.partition(' (e.g.')[0]}" for error in validate_env([variable], "env", rules)
    ]


def source(**kinds):
    return {"name": "A", "valueFrom": kinds}


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        pytest.param({"name": "1 a"}, [], id="relaxed name"),
        pytest.param({}, ["env[0].name: Required value"], id="no name"),
        pytest.param(
            {"name": "a=b"},
            [
                'env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable '
                "ASCII characters other than '='"
            ],
            id="equals sign",
        ),
        pytest.param(
            source(),
            [
                'env[0].valueFrom: Invalid value: "": must specify one of: '
                "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            ],
            id="no source",
        ),
        pytest.param(
            source(configMapKeyRef={"name": "a", "key": "k"}, secretKeyRef={"name": "a", "key": "k"}),
            ['env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time'],
            id="two sources",
        ),
        pytest.param(
            {**source(secretKeyRef={"name": "a", "key": "k"}), "value": "x"},
            ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
            id="value and source",
        ),
        pytest.param(
            source(configMapKeyRef={"name": "a"}), ["env[0].valueFrom.configMapKeyRef.key: Required value"], id="no key"
        ),
        pytest.param(
            source(fileKeyRef={"key": "K", "volumeName": "v", "path": "a/../b"}),
            ["env[0].valueFrom.fileKeyRef.path: Invalid value: \"a/../b\": must not contain '..'"],
            id="file that climbs",
        ),
    ],
)
def test_variables(variable, says):
    assert judge(variable) == says


def test_strict_names_where_relaxed_ones_are_not_known():
    rules = EnvValidationOptions(relaxed_names=False, allow_file_keys=False)
    assert judge({"name": "1a"}, rules)[0].startswith('env[0].name: Invalid value: "1a": a valid environment variable')
    assert judge(source(), rules)[0].endswith("`configMapKeyRef` or `secretKeyRef`")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("metadata.name", None, id="name"),
        pytest.param("metadata.labels['a/b']", None, id="one label"),
        pytest.param("spec.host", None, id="the old name of the node"),
        pytest.param(
            "metadata.labels['a b']", 'r: Invalid value: "a b": name part must consist of', id="impossible label"
        ),
        pytest.param(
            "spec.x['a']",
            "r.fieldPath: Invalid value: \"spec.x['a']\": error converting fieldPath: "
            "field label does not support subscript: spec.x['a']",
            id="no map",
        ),
        pytest.param(
            "spec.x",
            'r.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x',
            id="unknown field",
        ),
        pytest.param(
            "status.phase",
            'r.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "spec.nodeName"',
            id="not here",
        ),
    ],
)
def test_references_to_fields(path, says):
    reference = {"apiVersion": "v1", "fieldPath": path}
    errors = [str(error) for error in validate_field_reference(reference, "r", ("spec.nodeName", "metadata.name"))]
    assert errors[0].startswith(says) if says else errors == [], errors


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        pytest.param({"resource": "limits.cpu", "divisor": "1m"}, [], id="cpu by thousandths"),
        pytest.param(
            {"resource": "limits.cpu", "divisor": "1k"},
            [
                'r.divisor: Invalid value: "limits.cpu": '
                "only divisor's values 1m and 1 are supported with the cpu resource"
            ],
            id="cpu by thousands",
        ),
        pytest.param({"resource": "requests.hugepages-2Mi", "divisor": "1Mi"}, [], id="huge pages"),
        pytest.param({}, ["r.resource: Required value"], id="no resource"),
    ],
)
def test_references_to_resources(reference, says):
    assert [str(error) for error in validate_resource_reference(reference, "r", require_container=False)] == says


def test_a_reference_in_a_volume_names_the_container():
    errors = validate_resource_reference({"resource": "limits.cpu"}, "r", require_container=True)
    assert [str(error) for error in errors] == ["r.containerName: Required value"]


def test_whole_config_maps_and_secrets():
    sources = [{"configMapRef": {"name": "a"}, "secretRef": {}}, {"prefix": "="}]
    assert [error.field for error in validate_env_from(sources, "from", EnvValidationOptions())] == [
        "from[0].secretRef.name",
        "from",
        "from[1].prefix",
        "from",
    ]
