"""The quality of service of a pod."""

import pytest

from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities(gates=frozenset({"PodLevelResources"}))
BOTH = {"cpu": "1", "memory": "1Gi"}


def spec(*resources, **more):
    return {"containers": [{"resources": each} for each in resources], **more}


@pytest.mark.parametrize(
    ("pod", "quality"),
    [
        pytest.param(spec({}), "BestEffort", id="nothing"),
        pytest.param(spec({"requests": {"ephemeral-storage": "1"}}), "BestEffort", id="nothing that counts"),
        pytest.param(spec({"requests": {"cpu": "0"}}), "BestEffort", id="zero is nothing"),
        pytest.param(spec({"requests": BOTH, "limits": BOTH}), "Guaranteed", id="all of it, as limited"),
        pytest.param(spec({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}), "Burstable", id="no memory"),
        pytest.param(spec({"requests": BOTH, "limits": BOTH}, {}), "Burstable", id="not every container"),
        pytest.param(
            spec({"requests": {**BOTH, "cpu": "500m"}, "limits": BOTH}), "Burstable", id="less than the limit"
        ),
        pytest.param(
            spec({"requests": BOTH, "limits": BOTH}, initContainers=[{"resources": {}}]),
            "Burstable",
            id="init containers count",
        ),
        pytest.param(
            spec({}, resources={"requests": BOTH, "limits": BOTH}), "Guaranteed", id="the pod as a whole decides"
        ),
    ],
)
def test_quality(pod, quality):
    assert compute_pod_qos(pod, CAPS) == quality


def test_the_pod_as_a_whole_decides_behind_its_gate():
    assert compute_pod_qos(spec({}, resources={"requests": BOTH}), Capabilities()) == "BestEffort"
