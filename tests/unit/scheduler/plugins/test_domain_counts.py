from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework import cache as cache_module
from mockkube.scheduler.framework.cache import REMOVED_NODES_MAX, Cache
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.plugins.domain_counts import CACHED_QUERIES_MAX, DomainCounts, DomainCountsCache

_NAMES, _ZONES = ("n1", "n2", "n3"), ("a", "b")
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from(_NAMES), st.sampled_from(_ZONES)),
        st.tuples(st.just("no node"), st.sampled_from(_NAMES), st.none()),
        st.tuples(st.just("pod"), st.sampled_from(_NAMES), st.integers(1, 5)),
        st.tuples(st.just("no pod"), st.none(), st.integers(1, 5)),
        st.tuples(st.just("look"), st.none(), st.none()),
    ),
    max_size=30,
)


def _picture() -> Cache:
    return Cache(PodRequestCalculator(Capabilities()))


def _play(picture: Cache, step: str, name: str, value: Any) -> None:
    match step:
        case "node":
            picture.set_node({"metadata": {"name": name, "labels": {"zone": value}}, "spec": {}, "status": {}})
        case "no node":
            picture.remove_node(name)
        case "pod":
            metadata = {"name": f"p{value}", "namespace": "a", "uid": f"p{value}"}
            picture.add_pod(PodInfo({"metadata": metadata, "spec": {"nodeName": name, "containers": []}}))
        case "no pod":
            picture.remove_pod(f"p{value}")


def _pods_by_zone(node: NodeInfo) -> list[tuple[str, str, int]]:
    return [("zone", node.labels["zone"], len(node.pods))] if node.pods else []


@given(_STEPS, st.sampled_from([0, REMOVED_NODES_MAX]))
@settings(max_examples=200, deadline=None)
def test_counts_that_follow_changes_are_those_counted_afresh(steps, removed_nodes_max) -> None:
    picture = _picture()
    following = DomainCounts(picture, _pods_by_zone)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cache_module, "REMOVED_NODES_MAX", removed_nodes_max)
        for step in steps:
            if step[0] == "look":
                following.refresh()
            else:
                _play(picture, *step)
    following.refresh()
    afresh = DomainCounts(picture, _pods_by_zone)
    afresh.refresh()
    assert following.tables == afresh.tables


def test_equal_questions_share_counts_until_too_many_others_were_asked() -> None:
    own, picture = _picture(), _picture()
    counts = DomainCountsCache[str](own)
    first = counts.get("zone", own, _pods_by_zone)
    assert counts.get("zone", own, _pods_by_zone) is first
    for other in range(CACHED_QUERIES_MAX):
        counts.get(other, own, _pods_by_zone)
    assert counts.get("zone", own, _pods_by_zone) is not first
    assert counts.get("zone", picture, _pods_by_zone) is not counts.get("zone", picture, _pods_by_zone)
