"""Eviction by NoExecute taints, in virtual time."""

import pytest

from mockkube.features.versions import Version

BROKEN = {"key": "broken", "effect": "NoExecute"}
REASON = "TaintManagerEviction"


def tolerates(seconds: int | None = None, **fields: object) -> dict[str, object]:
    timed = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": "broken", "operator": "Exists", "effect": "NoExecute", **timed, **fields}


@pytest.fixture
async def evicting(sim):
    await sim.start("taint-eviction-controller")
    await sim.node("n1")
    return sim


async def test_a_pod_stays_until_its_toleration_ends(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(300)], spec={"terminationGracePeriodSeconds": 0})
    await evicting.taint("n1", BROKEN)
    await evicting.advance(299.9)
    assert await evicting.get("Pod", "p")
    await evicting.advance(0.1)
    assert await evicting.get("Pod", "p") is None
    assert await evicting.events("p") == [(REASON, "Marking for deletion Pod default/p", 1)]


async def test_an_untolerated_taint_marks_the_pod_with_its_reason_and_deletes_it_at_once(evicting):
    await evicting.pod("p", on="n1")
    await evicting.taint("n1", BROKEN)
    pod = await evicting.get("Pod", "p")
    assert pod["metadata"]["deletionTimestamp"]
    (condition,) = (one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    assert condition["observedGeneration"] == 1


async def test_the_shortest_of_several_tolerations_counts(evicting):
    also = {"key": "also", "effect": "NoExecute"}
    tolerations = [tolerates(40), {**also, "operator": "Exists", "tolerationSeconds": 20}]
    await evicting.pod("p", on="n1", tolerations=tolerations)
    await evicting.taint("n1", BROKEN, also)
    await evicting.advance(19)
    assert "deletionTimestamp" not in (await evicting.get("Pod", "p"))["metadata"]
    await evicting.advance(1)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_the_first_toleration_that_matches_counts_whatever_follows(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(2), tolerates(None, operator="Exists")])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(2)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_a_taint_that_goes_in_time_cancels(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(4)
    await evicting.taint("n1")
    await evicting.advance(100)
    assert "deletionTimestamp" not in (await evicting.get("Pod", "p"))["metadata"]
    assert await evicting.events("p") == [(REASON, "Cancelling deletion of Pod default/p", 1)]


async def test_a_pod_that_goes_by_itself_is_cancelled_too(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.delete("Pod", "p")
    assert await evicting.events("p") == [(REASON, "Cancelling deletion of Pod default/p", 1)]


async def test_a_new_value_of_the_taint_keeps_the_clock(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(3)
    await evicting.taint("n1", {**BROKEN, "value": "more"})
    await evicting.advance(2)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_more_seconds_come_too_late_for_a_clock_that_runs(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(3)
    pod = await evicting.get("Pod", "p")
    longer = [{**one, "tolerationSeconds": 50} for one in pod["spec"]["tolerations"]]
    await evicting.merge("Pod", "p", {"spec": {"tolerations": longer}})
    await evicting.advance(2)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_a_restart_starts_the_clock_again(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(4)
    await evicting.start("taint-eviction-controller")
    await evicting.advance(4.9)
    assert "deletionTimestamp" not in (await evicting.get("Pod", "p"))["metadata"]
    await evicting.advance(0.1)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_a_terminating_pod_is_marked_again_at_every_new_taint(evicting):
    await evicting.pod("p", on="n1", metadata={"finalizers": ["example.com/held"]})
    await evicting.taint("n1", BROKEN)
    await evicting.taint("n1", {**BROKEN, "value": "more"})
    assert await evicting.events("p") == [(REASON, "Marking for deletion Pod default/p", 2)]


async def test_a_terminating_pod_keeps_the_condition_it_was_marked_with(evicting):
    await evicting.pod("p", on="n1")
    await evicting.taint("n1", BROKEN)
    before = await evicting.get("Pod", "p")
    assert before["metadata"]["generation"] == 2
    await evicting.taint("n1", {"key": "other", "effect": "NoExecute"})
    assert (await evicting.get("Pod", "p"))["status"] == before["status"]


async def test_a_clock_that_was_stopped_does_not_strike(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)], metadata={"finalizers": ["example.com/held"]})
    await evicting.taint("n1", BROKEN)
    await evicting.taint("n1", BROKEN, {"key": "worse", "effect": "NoExecute"})
    await evicting.advance(60)
    marks = [event for event in await evicting.events("p") if event[1].startswith("Marking")]
    assert marks == [(REASON, "Marking for deletion Pod default/p", 1)]


async def test_a_taint_that_comes_back_starts_a_new_clock(evicting):
    await evicting.pod("p", on="n1", tolerations=[tolerates(5)])
    await evicting.taint("n1", BROKEN)
    await evicting.advance(3)
    await evicting.taint("n1")
    await evicting.taint("n1", BROKEN)
    await evicting.advance(4.9)
    assert "deletionTimestamp" not in (await evicting.get("Pod", "p"))["metadata"]
    await evicting.advance(0.1)
    assert "deletionTimestamp" in (await evicting.get("Pod", "p"))["metadata"]


async def test_where_eviction_has_no_name_of_its_own_the_node_lifecycle_evicts(sim):
    gates = {"SeparateTaintEvictionController": False}
    await sim.start("node-lifecycle-controller", version=Version(1, 33), gates=gates)
    await sim.node("n1")
    await sim.pod("p", on="n1", spec={"terminationGracePeriodSeconds": 0})
    await sim.taint("n1", BROKEN)
    assert await sim.get("Pod", "p") is None


@pytest.mark.parametrize(
    ("gate", "stays"),
    [pytest.param(True, True, id="the gate is on"), pytest.param(False, False, id="the gate is off")],
)
async def test_a_comparison_keeps_a_pod_only_with_the_gate(sim, gate, stays):
    comparing = {"key": "level", "operator": "Gt", "value": "100", "effect": "NoExecute"}
    await sim.node("n1")
    await sim.pod("p", on="n1", tolerations=[comparing], spec={"terminationGracePeriodSeconds": 0})
    await sim.start("taint-eviction-controller", gates={"TaintTolerationComparisonOperators": gate})
    await sim.taint("n1", {"key": "level", "value": "200", "effect": "NoExecute"})
    assert (await sim.get("Pod", "p") is not None) is stays
