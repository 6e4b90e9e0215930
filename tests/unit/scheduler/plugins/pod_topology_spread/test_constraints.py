"""What the scheduler heeds in a spread constraint."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT
from mockkube.scheduler.plugins.pod_topology_spread.constraints import SupportedFields

GATE = "NodeInclusionPolicyInPodTopologySpread"
TRAIN = (ReleaseTrain(GATE),)


@pytest.mark.parametrize(
    ("caps", "heeded"),
    [
        pytest.param(Capabilities(), True, id="released, and its gate forgotten"),
        pytest.param(Capabilities(DEFAULT, trains=TRAIN), False, id="another train, gate off"),
        pytest.param(Capabilities(DEFAULT, frozenset({GATE}), TRAIN), True, id="another train, gate on"),
    ],
)
def test_policies_count_unless_a_train_has_the_gate_off(caps, heeded):
    assert SupportedFields.from_capabilities(caps).policies is heeded
