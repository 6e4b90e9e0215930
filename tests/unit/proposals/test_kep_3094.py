"""Which nodes count for a spread constraint."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT
from mockkube.matching.node_affinity import compile_required_node_affinity
from mockkube.matching.taints import TaintRules, compile_tolerations
from mockkube.proposals.kep_3094 import GATE, NodeInclusionPolicies, are_policies_supported

TRAIN = (ReleaseTrain(GATE),)
TAINT = {"key": "reserved", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("caps", "supported"),
    [
        pytest.param(Capabilities(), True, id="released, and its gate forgotten"),
        pytest.param(Capabilities(DEFAULT, trains=TRAIN), False, id="another train, gate off"),
        pytest.param(Capabilities(DEFAULT, frozenset({GATE}), TRAIN), True, id="another train, gate on"),
    ],
)
def test_policies_count_unless_a_train_has_the_gate_off(caps, supported):
    assert are_policies_supported(caps) is supported


@pytest.mark.parametrize(
    ("constraint", "labels", "taints", "counts"),
    [
        pytest.param({}, {"disk": "ssd"}, [TAINT], True, id="taints are ignored by default"),
        pytest.param({}, {}, [], False, id="affinity is honored by default"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {}, [], True, id="affinity ignored"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {"disk": "ssd"}, [TAINT], False, id="taints honored"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, {"disk": "ssd"}, [{**TAINT, "effect": "PreferNoSchedule"}], True,
            id="a preference is no hindrance",
        ),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, {"disk": "ssd"}, [{**TAINT, "key": "tolerated"}], True, id="tolerated"
        ),
    ],
)  # fmt: skip
def test_a_node_counts_by_the_policies(constraint, labels, taints, counts):
    policies = NodeInclusionPolicies.from_constraint(constraint)
    affinity = compile_required_node_affinity({"nodeSelector": {"disk": "ssd"}}, {})
    tolerations = compile_tolerations([{"key": "tolerated", "operator": "Exists"}], TaintRules())
    assert policies.include(labels, "n1", taints, affinity, tolerations) is counts
