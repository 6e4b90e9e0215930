from typing import Any

import pytest

from mockkube.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

_DB, _WEB = {"app": "db"}, {"app": "web"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _term(labels: dict[str, str], key: str = "zone") -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def _prefers(kind: str, weight: int, labels: dict[str, str], key: str = "zone") -> dict[str, Any]:
    return {"affinity": {kind: {_PREFERRED: [{"weight": weight, "podAffinityTerm": _term(labels, key)}]}}}


@pytest.fixture
def zones(world: Any) -> Any:
    """Three zones of a node each."""
    for zone in ("a", "b", "c"):
        world.node(zone, {"zone": zone})
    return world


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("podAffinity", {"a": 100, "b": 50, "c": 0}, id="the more the better"),
        pytest.param("podAntiAffinity", {"a": 0, "b": 50, "c": 100}, id="the fewer the better"),
    ],
)
def test_what_a_pod_prefers_counts_for_each_pod_that_is_there(zones, kind, expected) -> None:
    for node in ("a", "a", "b"):
        zones.pod(_DB, nodeName=node)
    assert zones.scores(zones.build(InterPodAffinity), zones.pod(**_prefers(kind, 5, _DB))) == expected


def test_what_others_prefer_counts_too_and_weights_add_up(zones) -> None:
    zones.pod(nodeName="a", **_prefers("podAffinity", 10, _WEB))
    zones.pod(nodeName="b", **_prefers("podAntiAffinity", 10, _WEB))
    zones.pod(nodeName="b", **_prefers("podAffinity", 5, _WEB))
    plugin = zones.build(InterPodAffinity)
    assert zones.scores(plugin, zones.pod(_WEB)) == {"a": 100, "b": 0, "c": 33}
    assert zones.scores(plugin, zones.pod(_DB)) == {}


@pytest.mark.parametrize(
    ("weight", "expected"),
    [pytest.param(1, {"a": 100, "b": 0, "c": 0}, id="a little"), pytest.param(0, {}, id="not if weighed at nothing")],
)
def test_what_others_require_near_them_draws_as_configured(zones, weight, expected) -> None:
    zones.pod(_DB, nodeName="a", affinity={"podAffinity": {_REQUIRED: [_term(_WEB)]}})
    plugin = zones.build(InterPodAffinity, hardPodAffinityWeight=weight)
    assert zones.scores(plugin, zones.pod(_WEB)) == expected


def test_what_others_prefer_can_be_left_aside_for_pods_without_preferences(zones) -> None:
    zones.pod(nodeName="a", **_prefers("podAffinity", 10, _WEB))
    plugin = zones.build(InterPodAffinity, ignorePreferredTermsOfExistingPods=True)
    assert zones.scores(plugin, zones.pod(_WEB)) == {}
    assert zones.scores(plugin, zones.pod(_WEB, **_prefers("podAffinity", 1, _DB)))["a"] == 100


def test_domains_of_several_keys_are_summed(zones) -> None:
    zones.node("a2", {"zone": "a"})
    zones.pod(_DB, nodeName="a")
    affinity = {
        "podAffinity": {
            _PREFERRED: [
                {"weight": 3, "podAffinityTerm": _term(_DB)},
                {"weight": 1, "podAffinityTerm": _term(_DB, "kubernetes.io/hostname")},
            ]
        }
    }
    scores = zones.scores(zones.build(InterPodAffinity), zones.pod(affinity=affinity))
    assert scores == {"a": 100, "a2": 75, "b": 0, "c": 0}


def test_what_cancels_out_leaves_all_nodes_alike(zones) -> None:
    zones.pod(nodeName="a", **_prefers("podAffinity", 5, _WEB))
    zones.pod(nodeName="a", **_prefers("podAntiAffinity", 5, _WEB))
    assert zones.scores(zones.build(InterPodAffinity), zones.pod(_WEB)) == {"a": 0, "b": 0, "c": 0}
