"""Who goes so that a critical pod has room."""

import pytest

from mockkube.api.quantities.resources import Resources
from mockkube.client.protocol import Key
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.preemption import NoVictimsError, find_victims


def guest(name, qos="Burstable", cpu=0, memory=0, priority=0, critical=False):
    requests = Resources(cpu_milli=cpu, memory=memory)
    return AdmittedPod(Key("ns", name), name, requests, frozenset(), critical, priority, qos)


VITAL = guest("vital", critical=True, priority=2_000_000_000)


@pytest.mark.parametrize(
    ("present", "needs", "gone"),
    [
        pytest.param([guest("a", cpu=100), guest("b", cpu=500)], {"cpu": 400}, ["b"], id="the one that suffices"),
        pytest.param([guest("a", cpu=900), guest("b", cpu=500)], {"cpu": 400}, ["b"], id="the smaller of two"),
        pytest.param([guest("a", cpu=300), guest("b", cpu=200), guest("c", cpu=100)], {"cpu": 500}, ["a", "b"],
                     id="the fewest"),
        pytest.param([guest("a", "Guaranteed", cpu=500), guest("b", cpu=500)], {"cpu": 500}, ["b"],
                     id="guaranteed pods last"),
        pytest.param([guest("a", "BestEffort"), guest("b", cpu=500)], {"pods": 1}, ["a"], id="best effort for a place"),
        pytest.param([guest("a", cpu=500), guest("b", memory=10)], {"cpu": 400, "memory": 10}, ["a", "b"],
                     id="two resources"),
    ],
)  # fmt: skip
def test_the_cheapest_go(present, needs, gone):
    assert sorted(one.uid for one in find_victims(VITAL, present, needs)) == gone


@pytest.mark.parametrize("present", [
    pytest.param([], id="nobody"),
    pytest.param([guest("a", cpu=100)], id="too little"),
    pytest.param([guest("a", cpu=900, critical=True, priority=2_000_000_000)], id="another critical pod"),
])  # fmt: skip
def test_nobody_goes_in_vain(present):
    with pytest.raises(NoVictimsError, match=r"^\[\(res: cpu, q: \d+\), \]$"):
        find_victims(VITAL, present, {"cpu": 500})
