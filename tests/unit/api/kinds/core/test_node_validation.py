"""Nodes and their taints."""

import pytest

from mockkube.api.kinds.core.node_validation import (
    PREFER_AVOID_PODS_ANNOTATION,
    TAINTS_ANNOTATION,
    validate_node,
    validate_node_update,
    validate_taints,
)


def node(spec=None, status=None, **annotations):
    return {"metadata": {"name": "n", "annotations": annotations}, "spec": spec or {}, "status": status or {}}


def judge(obj):
    return [str(error).partition(" (e.g.")[0] for error in validate_node(obj, strict_addresses=True)]


def change(new, old):
    return [str(error).partition(" (e.g.")[0] for error in validate_node_update(new, old)]


@pytest.mark.parametrize(
    ("taint", "says"),
    [
        pytest.param({"key": "a", "effect": "NoSchedule", "value": "b"}, [], id="in order"),
        pytest.param({"key": "a"}, ["t[0].effect: Required value"], id="no effect"),
        pytest.param(
            {"key": "a", "effect": "Odd"},
            ['t[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
            id="unknown effect",
        ),
        pytest.param(
            {"effect": "NoSchedule"},
            [
                't[0].key: Invalid value: "": name part must be non-empty',
                "t[0].key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
            ],
            id="no key",
        ),
    ],
)
def test_a_taint(taint, says):
    assert [str(error).partition(" (e.g.")[0] for error in validate_taints([taint], "t")] == says


def test_taints_differ_in_key_or_effect():
    taint = {"key": "a", "effect": "NoSchedule"}
    (error,) = validate_taints([taint, {**taint, "effect": "NoExecute"}, {**taint, "value": "b"}], "t")
    assert str(error) == (
        't[2]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: '
        "taints must be unique by key and effect pair"
    )


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        pytest.param(node({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}), [], id="a range of each family"),
        pytest.param(
            node({"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}),
            [
                'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: '
                "may specify no more than one CIDR for each IP family"
            ],
            id="two ranges of a family",
        ),
        pytest.param(
            node({"podCIDRs": ["10.0.0.1/24"]}),
            ['spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'],
            id="range that is an address",
        ),
        pytest.param(
            node(status={"capacity": {"pods": "1500m", "cpu": "-1"}}),
            [
                'status.capacity.pods: Invalid value: "1500m": must be an integer',
                'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
            ],
            id="odd capacity",
        ),
        pytest.param(
            node(status={"declaredFeatures": ["B", "A", "A", "x"]}),
            [
                'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
                'status.declaredFeatures[2]: Duplicate value: "A"',
                'status.declaredFeatures[3]: Invalid value: "x": invalid feature name "x": '
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/'",
            ],
            id="odd features",
        ),
        pytest.param(
            node(status={"nodeInfo": {"swap": {"capacity": 0}}}),
            ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
            id="no swap, under upstream's path",
        ),
        pytest.param(
            node(**{TAINTS_ANNOTATION: "nope"}),
            [
                f'metadata.annotations: Invalid value: "{TAINTS_ANNOTATION}": '
                "invalid character 'o' in literal null (expecting 'u')"
            ],
            id="annotated taints that are no JSON",
        ),
        pytest.param(
            node(**{TAINTS_ANNOTATION: '[{"key": "a"}]'}),
            [f"metadata.annotations.{TAINTS_ANNOTATION}[0].effect: Required value"],
            id="annotated taint without effect",
        ),
        pytest.param(
            node(**{PREFER_AVOID_PODS_ANNOTATION: '{"preferAvoidPods": [{}]}'}),
            [f"metadata.annotations.{PREFER_AVOID_PODS_ANNOTATION}[0].PodSignature: Required value"],
            id="pods to avoid, unsigned",
        ),
    ],
)
def test_a_node_is_told_what_is_wrong(obj, says):
    assert judge(obj) == says


FIXED_RANGE = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'


@pytest.mark.parametrize(
    ("new", "old", "says"),
    [
        pytest.param(node({"podCIDRs": ["10.0.0.0/24"]}), node(), [], id="range given"),
        pytest.param(node(), node({"podCIDRs": ["10.0.0.0/24"]}), [FIXED_RANGE], id="range taken"),
        pytest.param(
            node({"podCIDRs": ["10.0.1.0/24"]}), node({"podCIDRs": ["10.0.0.0/24"]}), [FIXED_RANGE], id="other range"
        ),
        pytest.param(
            node({"providerID": "b"}),
            node({"providerID": "a"}),
            ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'],
            id="other provider",
        ),
        pytest.param(
            node({"externalID": "b"}), node(), ["spec.externalID: Forbidden: may not be updated"], id="external id"
        ),
        pytest.param(
            node(status={"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}] * 2}),
            node(),
            ['status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}'],
            id="address twice",
        ),
        pytest.param(
            node({"configSource": {}}),
            node(),
            ['spec.configSource: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil'],
            id="configuration from nowhere",
        ),
        pytest.param(
            node(status={"config": {"assigned": {"configMap": {"name": "n", "namespace": "s"}}}}),
            node(),
            [
                "status.config.assigned.configMap.uid: Required value",
                "status.config.assigned.configMap.resourceVersion: Required value",
                "status.config.assigned.configMap.kubeletConfigKey: Required value",
            ],
            id="configuration half reported",
        ),
    ],
)
def test_a_change_of_a_node_is_told_what_is_wrong(new, old, says):
    assert change(new, old) == says
