"""When pods that were refused are tried again: when, and only when, something may help."""


async def attempts(lab) -> float:
    labels = {"profile": "default-scheduler"}
    return sum(
        lab.sample("scheduler_schedule_attempts_total", result=result, **labels)
        for result in ("scheduled", "unschedulable", "error")
    )


async def test_a_pod_waits_for_what_helps_and_for_nothing_else(lab) -> None:
    await lab.node("n1", cpu="1")
    await lab.pod("p", cpu="2")
    await lab.settle()
    await lab.patch("Node", "n1", {"metadata": {"labels": {"color": "blue"}}})
    await lab.advance(60)
    assert await attempts(lab) == 1
    await lab.node("n2", cpu="4")
    assert await lab.node_of("p") == "n2"
    assert await attempts(lab) == 2


async def test_after_five_minutes_a_pod_is_tried_whatever_happened(lab) -> None:
    await lab.node("n1", cpu="1")
    await lab.pod("p", cpu="2")
    await lab.settle()
    await lab.advance(299)
    assert await attempts(lab) == 1
    await lab.advance(31)
    assert await attempts(lab) == 2


async def test_gates_keep_a_pod_out_until_the_last_is_removed(lab) -> None:
    await lab.node("n1")
    await lab.pod("p", schedulingGates=[{"name": "one"}, {"name": "two"}])
    await lab.settle()
    assert lab.sample("scheduler_pending_pods", queue="gated") == 1
    await lab.patch("Pod", "p", {"spec": {"schedulingGates": [{"name": "one", "$patch": "delete"}]}})
    await lab.settle()
    assert await lab.node_of("p") == ""
    await lab.patch("Pod", "p", {"spec": {"schedulingGates": None}})
    await lab.settle()
    assert await lab.node_of("p") == "n1"


async def test_a_new_toleration_of_the_pod_itself_helps(lab) -> None:
    await lab.node("n1", taints=[{"key": "a", "effect": "NoSchedule"}])
    await lab.pod("p")
    await lab.settle()
    await lab.patch("Pod", "p", {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}})
    await lab.settle()
    assert await lab.node_of("p") == "n1"


async def test_more_important_pods_go_first(lab) -> None:
    await lab.priority_class("high", 1000)
    await lab.pod("low", cpu="2")
    await lab.pod("high", cpu="2", priorityClassName="high")
    await lab.settle()
    await lab.node("n1", cpu="2")
    await lab.advance(5)
    assert (await lab.node_of("high"), await lab.node_of("low")) == ("n1", "")


async def test_failures_of_the_machinery_are_tried_again_with_a_growing_pause(lab) -> None:
    await lab.pod("p")
    await lab.settle()
    tried = [await attempts(lab)]
    for _ in range(6):
        await lab.advance(1)
        tried.append(await attempts(lab))
    assert tried == [1, 1, 2, 2, 2, 3, 3]
