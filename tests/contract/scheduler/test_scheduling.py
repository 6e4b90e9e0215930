"""What users see of scheduling: bindings, conditions, events, metrics."""

import pytest


async def test_a_pod_goes_to_the_node_with_most_room(lab) -> None:
    await lab.node("small", cpu="2")
    await lab.node("large", cpu="8")
    await lab.pod("p", cpu="1")
    await lab.settle()
    assert await lab.node_of("p") == "large"
    assert ("Scheduled", "Successfully assigned default/p to large") in await lab.events("p")


async def test_a_pod_that_fits_nowhere_says_why(lab) -> None:
    await lab.node("n1", cpu="1")
    await lab.node("n2", unschedulable=True)
    await lab.pod("p", cpu="1500m")
    await lab.settle()
    message = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    assert await lab.condition("p") == ("False", "Unschedulable", message)
    assert await lab.events("p") == [("FailedScheduling", message)]


async def test_without_nodes_the_message_says_only_that(lab) -> None:
    await lab.pod("p")
    await lab.settle()
    assert await lab.condition("p") == ("False", "Unschedulable", "no nodes available to schedule pods")


async def test_pods_of_other_schedulers_are_left_alone(lab) -> None:
    await lab.node("n1")
    await lab.pod("p", schedulerName="another")
    await lab.settle()
    assert await lab.node_of("p") == ""
    assert await lab.condition("p") == ("", "", "")


async def test_a_pod_that_is_being_deleted_is_skipped(lab) -> None:
    await lab.pod("p", schedulingGates=[{"name": "wait"}])
    await lab.patch("Pod", "p", {"metadata": {"finalizers": ["example.com/keep"]}})
    await lab.delete("Pod", "p")
    await lab.patch("Pod", "p", {"spec": {"schedulingGates": None}})
    await lab.node("n1")
    await lab.settle()
    assert await lab.events("p") == [("FailedScheduling", "skip schedule deleting pod: default/p")]


async def test_pods_decided_on_occupy_their_node_before_they_are_bound(lab) -> None:
    await lab.node("n1", cpu="2")
    for name in ("a", "b", "c"):
        await lab.pod(name, cpu="1")
    await lab.settle()
    assert [await lab.node_of(name) for name in ("a", "b", "c")] == ["n1", "n1", ""]


async def test_attempts_and_evaluations_are_counted(lab) -> None:
    await lab.node("n1", cpu="1")
    await lab.pod("fits", cpu="500m")
    await lab.pod("does-not", cpu="2")
    await lab.settle()
    profile = "default-scheduler"
    assert lab.sample("scheduler_schedule_attempts_total", result="scheduled", profile=profile) == 1
    assert lab.sample("scheduler_schedule_attempts_total", result="unschedulable", profile=profile) == 1
    labels = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "profile": profile}
    assert lab.sample("scheduler_plugin_evaluation_total", **labels, status="Success") == 1
    assert lab.sample("scheduler_plugin_evaluation_total", **labels, status="UnschedulableAndUnresolvable") == 1
    assert lab.sample("scheduler_pending_pods", queue="unschedulable") == 1
    assert lab.sample("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile=profile) == 1
    assert lab.sample("scheduler_queue_incoming_pods_total", queue="active", event="UnschedulablePodAdd") == 2


async def test_the_untolerated_taint_is_named_up_to_1_33(labs) -> None:
    taint = {"key": "a", "value": "1", "effect": "NoSchedule"}
    texts = []
    for version in ("1.33", "1.35"):
        lab = await labs(version=version)
        await lab.node("n1", taints=[taint])
        await lab.pod("p")
        await lab.settle()
        texts.append((await lab.condition("p"))[2].partition(". ")[0])
    assert texts == [
        "0/1 nodes are available: 1 node(s) had untolerated taint {a: 1}",
        "0/1 nodes are available: 1 node(s) had untolerated taint(s)",
    ]


GT = {"key": "level", "operator": "Gt", "value": "5", "effect": "NoSchedule"}
GATE = "TaintTolerationComparisonOperators"


@pytest.mark.parametrize(("on", "node"), [pytest.param(True, "n1", id="on"), pytest.param(False, "", id="off")])
async def test_the_schedulers_own_gate_decides_whether_gt_matches(labs, on: bool, node: str) -> None:
    lab = await labs(gates={GATE: True})
    if not on:
        lab = await labs(gates={GATE: False})
    await lab.node("n1", taints=[{"key": "level", "value": "7", "effect": "NoSchedule"}])
    await lab.pod("p", tolerations=[GT] if on else [{**GT, "operator": "Equal"}])
    await lab.settle()
    assert await lab.node_of("p") == node


async def test_each_profile_schedules_the_pods_that_name_it(labs) -> None:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {
                "schedulerName": "packer",
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
                ],
                "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
            },
        ],
    }
    lab = await labs(configuration=configuration)
    await lab.node("small", cpu="2")
    await lab.node("large", cpu="8")
    await lab.pod("spread", cpu="1")
    await lab.pod("packed", cpu="1", schedulerName="packer")
    await lab.settle()
    assert (await lab.node_of("spread"), await lab.node_of("packed")) == ("large", "small")


async def test_a_scheduler_that_starts_anew_knows_what_is_bound(labs, lab) -> None:
    await lab.node("n1", cpu="2")
    await lab.pod("a", cpu="2")
    await lab.settle()
    await lab.pod("b", cpu="1")
    await lab.settle()
    assert await lab.node_of("b") == ""
    await lab.delete("Pod", "a")
    await lab.settle()
    assert await lab.node_of("b") == "n1"
