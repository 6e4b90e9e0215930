from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.node_declared_features import NodeDeclaredFeatures

_RESTART = {"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}
_USERS = {"hostNetwork": True, "hostUsers": False}
_BIND = {"containers": [{"name": "c", "volumeMounts": [{"name": "v", "bindMountOptions": ["nosuid"]}]}]}
_FEATURES = {
    "restart": ("RestartAllContainersOnContainerExits", _RESTART),
    "users": ("UserNamespacesHostNetworkSupport", _USERS),
    "bind": ("VolumeBindMountOptions", _BIND),
}


def _declares(*features: str) -> dict[str, Any]:
    return {"metadata": {"name": "n1"}, "spec": {}, "status": {"declaredFeatures": list(features)}}


@pytest.mark.parametrize("needed", _FEATURES)
def test_a_node_must_declare_what_a_pod_needs(worlds, needed) -> None:
    world = worlds("1.37")
    feature, spec = _FEATURES[needed]
    world.node("with", status=_declares("Other", feature)["status"])
    world.node("without")
    found = world.filter(world.build(NodeDeclaredFeatures), world.pod(**spec))
    assert found["with"].is_success
    assert found["without"].code is Code.UNRESOLVABLE
    assert found["without"].message == "node(s) didn't match Pod's required features"
    assert found["without"].facts["missing"] == [feature]


@pytest.mark.parametrize(
    ("version", "needed", "known"),
    [
        pytest.param("1.35", "restart", True, id="restarts, with the gate"),
        pytest.param("1.35", "users", False, id="users are too new"),
        pytest.param("1.36", "users", True, id="users"),
        pytest.param("1.36", "bind", False, id="mount options are too new"),
    ],
)
def test_a_scheduler_knows_the_features_of_its_version(worlds, version, needed, known) -> None:
    world = worlds(version, {"NodeDeclaredFeatures": True})
    world.node("n1")
    pod = world.pod(**_FEATURES[needed][1])
    assert bool(world.refused(world.build(NodeDeclaredFeatures), pod)) is known


def test_in_1_35_the_message_lists_what_is_missing(worlds) -> None:
    world = worlds("1.35", {"NodeDeclaredFeatures": True})
    world.node("n1")
    told = "node declared features check failed - unsatisfied requirements: RestartAllContainersOnContainerExits"
    assert world.refused(world.build(NodeDeclaredFeatures), world.pod(**_RESTART)) == {"n1": told}


def test_without_the_gate_nothing_is_needed(worlds) -> None:
    world = worlds("1.36", {"NodeDeclaredFeatures": False})
    world.node("n1")
    assert world.filter(world.build(NodeDeclaredFeatures), world.pod(**_RESTART))[""].code is Code.SKIP


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, _declares(), True, id="a node comes"),
        pytest.param(_declares(), _declares("A"), True, id="it declares more"),
        pytest.param(_declares("A"), _declares("A"), False, id="it declares the same"),
    ],
)
def test_nodes_help_by_declaring_something_else(world, event, hinted, old, new, expected) -> None:
    action = ActionType.NODE_DECLARED_FEATURE if old else ActionType.ADD
    news = event(EventResource.NODE, action, old, new)
    assert hinted(world.build(NodeDeclaredFeatures), world.pod(**_RESTART), news) is expected
