"""Which component stops a pod, and which single change of which component would let it pass."""

from typing import Any

import pytest

from mockkube.client.protocol import Key
from mockkube.explain.explanation import PodExplanation, PodProgress
from mockkube.explain.pod_fate import PodFate
from mockkube.features.versions import Version

GT = "TaintTolerationComparisonOperators"
BOTH = ("node-1", "node-2")


def of_components(account: PodExplanation) -> set[tuple[str, str]]:
    return {(one.component, one.change) for one in account.remedies if one.component}


@pytest.mark.parametrize(
    ("off", "effect", "fate", "stage"),
    [
        pytest.param("kube-scheduler", "NoSchedule", PodFate.UNBOUND, PodProgress.SCHEDULED, id="the scheduler"),
        pytest.param("kubelet", "NoExecute", PodFate.REFUSED, PodProgress.ADMITTED, id="a kubelet"),
        pytest.param(
            "kube-controller-manager", "NoExecute", PodFate.EVICTED, PodProgress.KEPT, id="the controller manager"
        ),
    ],
)
async def test_the_gate_of_the_component_that_lacks_it_would_help(
    begin: Any, off: str, effect: str, fate: PodFate, stage: PodProgress
) -> None:
    world = await begin(off=off)
    await world.taint(*BOTH, effect=effect)
    await world.gt()
    account = await world.why()
    assert account.fate == fate
    assert account.obstacle is not None
    assert (account.obstacle.component, account.obstacle.stage) == (off, stage)
    assert of_components(account) == {(off, f"{GT}=true")}
    told = account.obstacle.detail or account.scheduling.refused[0].detail
    assert told.endswith(f"taint sla=950:{effect}; toleration Gt 900: {GT} is off")


async def test_the_change_that_is_told_does_help(begin: Any) -> None:
    world = await begin(off="kubelet")
    await world.taint(*BOTH, effect="NoExecute")
    await world.gt()
    await world.lab.change_component("kubelet", gates={GT: True})
    await world.lab.settle()
    account = await world.why()
    assert (account.fate, account.obstacle, list(account.remedies)) == (PodFate.REFUSED, None, [])
    assert "If decided again now, this would not happen" in account.notes[0]
    await world.gt("another")
    assert (await world.why("another")).fate == PodFate.RUNNING


async def test_a_change_that_only_moves_the_trouble_says_where_to(begin: Any) -> None:
    world = await begin(off="kube-scheduler")
    await world.lab.change_component("kubelet", gates={GT: False})
    await world.taint(*BOTH, effect="NoExecute")
    await world.gt()
    found = {one.change: one.but for one in (await world.why()).remedies if one.component}
    assert found[f"{GT}=true"].startswith("kubelet rejects it on node-")


async def test_the_kubelet_of_one_node_is_named_by_itself(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.lab.change_component("kubelet.node-1", gates={GT: False})
    await world.taint("node-1", effect="NoExecute")
    await world.gt()
    account = await world.why()
    assert of_components(account) == {("kubelet.node-1", f"{GT}=true")}
    assert "kubelet.node-1 1.36 rejected it on node-1" in account.actions[0]


async def test_a_running_pod_is_warned_of_the_restart_of_its_kubelet(begin: Any) -> None:
    world = await begin()
    await world.gt()
    await world.taint(*BOTH, effect="NoExecute")
    assert not (await world.why()).notes
    await world.lab.change_component("kube-scheduler", running=False)
    settings = world.lab.get_component_specs()["kubelet"].settings
    assert settings.capabilities().enabled(GT)
    await world.lab.change_component("kubelet", running=False)
    await world.lab.change_component("kubelet", gates={GT: False})
    notes = (await world.why()).notes
    assert notes[0].startswith("kubelet does nothing, so the pod is not managed")
    assert notes[1].startswith("It runs, but when its kubelet restarts: kubelet rejects it on node-")


@pytest.mark.parametrize(
    ("stopped", "stage"),
    [
        pytest.param("kube-scheduler", PodProgress.SCHEDULED, id="the scheduler"),
        pytest.param("kubelet", PodProgress.ADMITTED, id="the kubelets"),
    ],
)
async def test_a_component_that_is_stopped_is_what_stops_a_pod(begin: Any, stopped: str, stage: PodProgress) -> None:
    world = await begin()
    await world.lab.change_component(stopped, running=False)
    await world.pod("p")
    account = await world.why()
    assert account.obstacle is not None
    assert (account.obstacle.component, account.obstacle.stage) == (stopped, stage)
    assert "spec.running is false" in account.obstacle.text
    assert [(one.kind, one.component, one.but) for one in account.remedies] == [("running", stopped, "")]


async def test_the_controller_manager_that_is_stopped_evicts_nobody(begin: Any) -> None:
    world = await begin(off="kube-controller-manager")
    await world.lab.change_component("kube-controller-manager", running=False)
    await world.taint(*BOTH, effect="NoExecute")
    await world.gt()
    account = await world.why()
    assert (account.fate, account.obstacle) == (PodFate.RUNNING, None)


async def test_an_older_scheduler_needs_version_and_gate(begin: Any) -> None:
    world = await begin()
    await world.lab.change_component("kube-scheduler", version="1.34", gates={GT: None})
    await world.taint(*BOTH, effect="NoSchedule")
    await world.gt()
    found = of_components(await world.why())
    assert ("kube-scheduler", f"1.35 with {GT}=true") in found
    assert all(" with " in change for _, change in found)


async def test_finalizers_that_an_older_api_server_keeps_are_told(begin: Any) -> None:
    world = await begin(feature_gates={}, version=Version(1, 35))
    await world.lab.change_component("kube-apiserver", gates={GT: True})
    await world.gt(finalizers=["example.com/hold"])
    await world.client.delete("Pod", Key("default", "p"))
    await world.lab.change_component("kube-apiserver", version="1.34", gates={GT: None})
    await world.lab.settle()
    account = await world.why()
    assert account.obstacle is not None
    assert account.obstacle.component == "kube-apiserver"
    assert "example.com/hold cannot be removed" in account.obstacle.text
    assert ("kube-apiserver", "1.35") in of_components(account)


async def test_each_component_sees_through_its_own_api_server(begin: Any) -> None:
    """A pod that one API server shows with its expression, and an older one without."""
    world = await begin(feature_gates={"TaintTolerationCEL": True}, version=Version(1, 35))
    await world.pod("p", tolerations=[{"expression": "taint.key == 'sla'"}])
    await world.taint(*BOTH, effect="NoExecute")
    assert (await world.why()).obstacle is None
    await world.lab.change_component("kube-controller-manager", running=False)
    await world.lab.change_component("kube-apiserver.1", version="1.34", gates={"TaintTolerationCEL": None})
    await world.lab.change_component("kube-controller-manager", server="kube-apiserver.1", running=True)
    account = await world.why()
    assert account.obstacle is not None
    assert account.obstacle.component == "kube-controller-manager"


async def test_an_api_server_that_refuses_every_change_is_told(begin: Any) -> None:
    world = await begin(version=Version(1, 35))
    await world.gt()
    await world.lab.change_component("kube-apiserver", version="1.34", gates={GT: None})
    [note] = (await world.why()).notes
    assert note.startswith("kube-apiserver 1.34 rejects every update of it except of its status: spec.tolerations[0]")
    assert note.endswith("; with version 1.35 it would accept them.")
