"""The picture: what is on which node, assumed pods among it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.cache import REMOVED_NODES_MAX, Cache
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator


def node(name, *, images=(), conditions=(), **labels):
    status = {"allocatable": {"cpu": "4"}, "images": [{"names": [image]} for image in images]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {**status, "conditions": conditions}}


def pod(uid, on="", cpu="1", *, labels=None, status=None, **spec):
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": uid, "namespace": "a", "uid": uid, "labels": labels or {}}
    named = {"nodeName": on} if on else {}
    return PodInfo({"metadata": metadata, "spec": {"containers": containers, **named, **spec}, "status": status or {}})


@pytest.fixture
def picture():
    made = Cache(PodRequestCalculator(Capabilities()))
    for name in ("n1", "n2"):
        made.set_node(node(name))
    return made


def used(picture, name):
    return picture.get(name).requested.cpu_milli


def test_an_assumed_pod_counts_until_it_is_forgotten(picture):
    picture.assume_pod(pod("p"), "n1")
    assert (used(picture, "n1"), picture.is_assumed("p")) == (1000, True)
    picture.forget_pod("p")
    assert (used(picture, "n1"), picture.is_assumed("p"), picture.get_pod("p")) == (0, False, None)


def test_a_pod_that_is_seen_bound_is_counted_once_and_changes_nothing(picture):
    picture.assume_pod(pod("p"), "n1")
    before = picture.get("n1").generation
    picture.add_pod(pod("p", on="n1"))
    assert (used(picture, "n1"), picture.is_assumed("p"), picture.get("n1").generation) == (1000, False, before)


def test_a_pod_bound_elsewhere_than_assumed_is_moved(picture):
    picture.assume_pod(pod("p"), "n1")
    picture.add_pod(pod("p", on="n2"))
    assert (used(picture, "n1"), used(picture, "n2")) == (0, 1000)


def test_forgetting_a_pod_that_was_confirmed_does_nothing(picture):
    picture.assume_pod(pod("p"), "n1")
    picture.add_pod(pod("p", on="n1"))
    picture.forget_pod("p")
    assert used(picture, "n1") == 1000


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        pytest.param({"status": {"phase": "Running"}}, False, id="its phase"),
        pytest.param({"status": {"startTime": "2030-01-01T00:00:00Z"}}, True, id="its start"),
        pytest.param({"labels": {"a": "b"}}, True, id="its labels"),
        pytest.param({"cpu": "2"}, True, id="its requests"),
    ],
)
def test_a_node_is_looked_at_anew_only_for_what_counts(picture, change, counts):
    picture.add_pod(pod("p", on="n1"))
    before = picture.get("n1").generation
    picture.add_pod(pod("p", on="n1", **change))
    assert (picture.get("n1").generation > before) is counts


def test_a_sign_of_life_changes_nothing(picture):
    before = picture.generation
    picture.set_node(node("n1", conditions=[{"type": "Ready", "status": "True"}]))
    assert picture.generation == before
    picture.set_node(node("n1", color="blue"))
    assert list(picture.changed_since(before)) == ["n1"]


def test_pods_of_a_node_that_is_not_known_yet_wait_for_it(picture):
    picture.add_pod(pod("p", on="late"))
    assert picture.get("late") is None
    assert len(picture.all) == 2
    picture.set_node(node("late"))
    assert used(picture, "late") == 1000


def test_a_node_that_returns_finds_its_pods(picture):
    picture.add_pod(pod("p", on="n1"))
    picture.remove_node("n1")
    assert [one.name for one in picture.all] == ["n2"]
    picture.set_node(node("n1"))
    assert used(picture, "n1") == 1000


def test_images_and_claims_are_counted(picture):
    picture.set_node(node("n1", images=["app:1", "db:1"]))
    picture.set_node(node("n2", images=["app:1"]))
    assert (
        picture.count_nodes_with_image("app:1"),
        picture.count_nodes_with_image("db:1"),
        picture.count_nodes_with_image("x"),
    ) == (2, 1, 0)
    picture.add_pod(pod("p", on="n1", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]))
    assert picture.count_pvc_users("a", "c") == 1
    picture.remove_pod("p")
    assert picture.count_pvc_users("a", "c") == 0


def test_whether_pods_have_affinity_is_known(picture):
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    picture.add_pod(pod("p", on="n1", affinity={"podAffinity": {}}))
    picture.add_pod(pod("q", on="n2", affinity=anti))
    assert (picture.has_pods_with_affinity, picture.has_pods_with_required_anti_affinity) == (True, True)
    picture.remove_pod("q")
    assert (picture.has_pods_with_affinity, picture.has_pods_with_required_anti_affinity) == (True, False)
    picture.remove_pod("p")
    assert not picture.has_pods_with_affinity


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("assume", "add", "forget", "remove")), st.sampled_from("abc"), st.sampled_from(("n1", "n2"))
    )
)


@given(STEPS)
def test_sums_are_those_of_the_pods_whatever_happens(steps):
    picture = Cache(PodRequestCalculator(Capabilities()))
    for name in ("n1", "n2"):
        picture.set_node(node(name))
    where: dict[str, str] = {}
    assumed: set[str] = set()
    for verb, uid, name in steps:
        if verb == "assume" and uid not in where:
            picture.assume_pod(pod(uid), name)
            where[uid] = name
            assumed.add(uid)
        elif verb == "add":
            picture.add_pod(pod(uid, on=name))
            where[uid] = name
            assumed.discard(uid)
        elif verb == "forget":
            picture.forget_pod(uid)
            if uid in assumed:
                del where[uid]
                assumed.discard(uid)
        elif verb == "remove":
            picture.remove_pod(uid)
            where.pop(uid, None)
            assumed.discard(uid)
    for name in ("n1", "n2"):
        there = {uid for uid, on in where.items() if on == name}
        assert set(picture.get(name).pods) == there
        assert used(picture, name) == 1000 * len(there)


def test_nodes_that_came_and_went_are_forgotten(picture):
    for number in range(10 * REMOVED_NODES_MAX):
        name = f"extra-{number}"
        picture.set_node(node(name))
        picture.remove_node(name)
    changed = list(picture.changed_since(0))
    assert len(changed) <= 2 * len(picture.all) + REMOVED_NODES_MAX
    assert {"n1", "n2", name} <= set(changed)
    # Who has read no later than this must not rely on the changes alone.
    assert 0 < picture.forgotten_generation < picture.generation


def test_labels_of_a_bound_pod_change_no_load(picture):
    picture.assume_pod(pod("p"), "n1")
    before, derived = picture.generation, picture.get("n1").derive("me", lambda _: object())
    picture.add_pod(pod("p", on="n1", labels={"zone": "a"}))
    assert list(picture.changed_since(before)) == ["n1"]
    assert list(picture.load_changed_since(before)) == []
    assert picture.get("n1").pods["p"].labels == {"zone": "a"}
    assert picture.get("n1").derive("me", lambda _: object()) is not derived
    picture.add_pod(pod("p", on="n1", cpu="2", labels={"zone": "a"}))
    assert list(picture.load_changed_since(before)) == ["n1"]


AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}


def test_a_node_knows_its_pods_with_affinity(picture):
    picture.assume_pod(pod("p", affinity=AFFINITY), "n1")
    picture.assume_pod(pod("q", affinity={"nodeAffinity": {}}), "n1")
    latest = pod("p", on="n1", labels={"zone": "a"}, affinity=AFFINITY)
    picture.add_pod(latest)
    node = picture.get("n1")
    assert list(node.pods_with_affinity.values()) == [latest]
    copy = node.clone()
    picture.remove_pod("p")
    assert (list(node.pods_with_affinity), list(copy.pods_with_affinity)) == ([], ["p"])
