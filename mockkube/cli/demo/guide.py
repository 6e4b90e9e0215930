"""Steps of the example: a gate that is on in three components of four, and what follows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cli.demo.demo_cluster import DemoCluster
from mockkube.cli.demo.example import (
    APP,
    BEFORE,
    GATE,
    LAST,
    NAMESPACE,
    ROLLOUT,
    TAINT,
    make_deployment,
    make_plan_document,
)
from mockkube.client.protocol import Key, Selection
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.explore.exploration import Exploration

REPLICAS: Final = 2
SECONDS: Final = 10
_EVICTION: Final = "TaintManagerEviction"
_PODS: Final = Selection(NAMESPACE, f"app={APP}")


@dataclass(frozen=True, slots=True)
class GuideStep:
    """One step: what happens and why, the command that does it on a cluster of one's own, and what it prints."""

    title: str
    command: str = ""
    lines: tuple[str, ...] = ()
    exploration: "Exploration | None" = None
    """Result that the page can show, too."""


async def play(cluster: DemoCluster, explore: "Callable[[], Exploration]") -> AsyncIterator[GuideStep]:
    """Play the example on a new cluster, and yield each step when it is done."""
    yield await _reserve_nodes(cluster)
    yield await _enable_half(cluster)
    yield await _deploy(cluster)
    yield await _wait_for_evictions(cluster)
    yield await _explain(cluster)
    result = await asyncio.to_thread(explore)
    yield GuideStep(
        "Which order is safe? mockkube runs every order on simulated clusters.",
        "mockkube explore PLAN",
        tuple(_describe_orders(result)),
        result,
    )
    yield await _finish(cluster)


async def _reserve_nodes(cluster: DemoCluster) -> GuideStep:
    await cluster.advance(1)
    nodes = await cluster.client.list("Node")
    for node in nodes.items:
        await cluster.client.patch("Node", Key("", node["metadata"]["name"]), {"spec": {"taints": [TAINT]}})
    await cluster.advance(1)
    names = " ".join(node["metadata"]["name"] for node in nodes.items)
    return GuideStep(
        "A cluster with two nodes. A taint says what they guarantee: only pods that tolerate it may stay.",
        f"kubectl taint node {names} {_format_taint()}",
        tuple(f"node/{name} tainted" for name in names.split()),
    )


async def _enable_half(cluster: DemoCluster) -> GuideStep:
    on = (BEFORE, *ROLLOUT[:-1])
    for component in on:
        await cluster.enable_gate(component, GATE)
    await cluster.advance(1)
    patch = f'{{"spec":{{"featureGates":{{"{GATE}":true}}}}}}'
    return GuideStep(
        f"Pods that compare numbers need the gate {GATE}. It is on in {BEFORE}, {' and '.join(ROLLOUT[:-1])}; {LAST}"
        " is still to come. The proposal does not mention it.",
        f"for c in {' '.join(on)}; do kubectl patch component $c --type merge -p '{patch}'; done",
        tuple(f"component.control.mockkube.dev/{component} patched" for component in on),
    )


async def _deploy(cluster: DemoCluster) -> GuideStep:
    await cluster.client.create("Deployment", make_deployment(REPLICAS))
    await cluster.advance(0)
    return GuideStep(
        "A Deployment tolerates sla above 900. The API server accepts it, the scheduler finds nodes.",
        f"kubectl apply -f {APP}.yaml",
        (f"deployment.apps/{APP} created", *[line async for line in _list_pods(cluster)]),
    )


async def _wait_for_evictions(cluster: DemoCluster) -> GuideStep:
    await cluster.advance(SECONDS)
    count = await count_evictions(cluster)
    return GuideStep(
        f"{SECONDS} seconds later, in virtual time: {count} pods have been started and evicted, and no request has"
        " failed.",
        "kubectl get pods",
        tuple([line async for line in _list_pods(cluster)]),
    )


async def _explain(cluster: DemoCluster) -> GuideStep:
    from mockkube.explain.rendering import render_explanation

    pod = (await cluster.client.list("Pod", _PODS)).items[0]["metadata"]["name"]
    report = await cluster.explain_pod(Key(NAMESPACE, pod))
    return GuideStep("Why?", f"mockkube why {pod}", tuple(render_explanation(report)))


async def _finish(cluster: DemoCluster) -> GuideStep:
    await cluster.enable_gate(LAST, GATE)
    await cluster.advance(1)
    before = await count_evictions(cluster)
    await cluster.advance(60)
    more = await count_evictions(cluster) - before
    return GuideStep(
        f"The gate goes on in {LAST}, too: {more or 'no'} evictions in the minute after.",
        "kubectl get pods",
        tuple([line async for line in _list_pods(cluster)]),
    )


async def count_evictions(cluster: DemoCluster) -> int:
    """Return how many pods have been evicted because of a taint."""
    events = await cluster.client.list("Event", Selection(NAMESPACE))
    return sum(_count(event) for event in events.items if event.get("reason") == _EVICTION)


def _count(event: ReadOnlyObject) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


async def _list_pods(cluster: DemoCluster) -> AsyncIterator[str]:
    for pod in (await cluster.client.list("Pod", _PODS)).items:
        status = pod.get("status") or {}
        where = pod["spec"].get("nodeName") or "no node"
        yield f"{pod['metadata']['name']}   {status.get('phase', 'Pending')}   {where}"


def explore_orders(processes: int) -> "Exploration":
    """Explore the orders of the example's rollout plan, in so many processes."""
    import json

    from mockkube.explore.exploration import explore_plan
    from mockkube.explore.plans.loading import parse
    from mockkube.explore.players import ParallelPlayer
    from mockkube.explore.replay import without_logs

    plan = parse(json.dumps(make_plan_document()), "demo")
    with without_logs(), ParallelPlayer(plan, processes) as player:
        return explore_plan(plan, player)


def encode_exploration(result: "Exploration") -> bytes:
    """Return the result as `mockkube explore -o json` prints it, for the page."""
    import json

    from mockkube.explore.counterexample_scenario import render_counterexamples
    from mockkube.report import summary

    return json.dumps(summary.to_json(result, render_counterexamples(result))).encode()


def _describe_orders(result: "Exploration") -> Iterator[str]:
    from mockkube.explore.plans.plan import Direction
    from mockkube.report.markup import strip_markup
    from mockkube.report.sentences.answer import Answer
    from mockkube.report.sentences.headline import describe_answer

    answer = Answer(result)
    rows = [(" -> ".join(one.order), one.verdict.value) for one in answer.unprepared(Direction.UP)]
    width = max(len(order) for order, _ in rows)
    yield from (f"{order.ljust(width)}   {verdict}" for order, verdict in rows)
    yield strip_markup(describe_answer(answer))


def _format_taint() -> str:
    return f"{TAINT['key']}={TAINT['value']}:{TAINT['effect']}"
