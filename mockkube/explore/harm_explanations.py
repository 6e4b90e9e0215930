"""Explain why pods came to harm in a move, as `mockkube why` would after the move.

A pod whose state has changed since is not explained: the explanation would be about the later state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.cluster.components.component_flags import get_scheduler_configuration
from mockkube.cluster.components.explained_components import make_cluster_components
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.explain.components import ClusterComponents
from mockkube.explain.explanation import PodExplanation, PodProgress
from mockkube.explain.pod_explainer import PodExplainer
from mockkube.explain.pod_fate import PodFate
from mockkube.explain.rendering import render_explanation
from mockkube.explore.observation.observations import Observation
from mockkube.explore.observation.operator_intent import OperatorIntent
from mockkube.explore.observation.stored_objects import PODS, StoredObjects
from mockkube.features.components import SCHEDULER
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.scheduler import Scheduler

STUCK: Final = "stuck"
# State of a pod that is still as the harm left it. A removed pod leaves nothing that could be explained.
_FATES: Final = {"evicted": PodFate.EVICTED, "rejected": PodFate.REFUSED, STUCK: PodFate.UNBOUND}
# Pods to try until one is still as the harm left it: a hot loop makes many.
_TRIED_MAX: Final = 5
# Progress at which the harm stops a pod; an obstacle at an earlier point is a different one.
_STAGES: Final = {"evicted": PodProgress.KEPT, "rejected": PodProgress.ADMITTED, STUCK: PodProgress.SCHEDULED}
_REMEDIES_MAX: Final = 3
# Name of the obstacle's stage in the JSON of a pod that waits for a node.
_SCHEDULED: Final = PodProgress.SCHEDULED.name.capitalize()


@dataclass(frozen=True, slots=True)
class HarmExplanation:
    """Explanation of one harmed pod, standing for all pods of its workload with the same harm."""

    pod: str
    workload: str
    # `evicted`, `rejected`, `removed`, or `stuck`: it waits for a node.
    harm: str
    # Output of `mockkube why -o json`.
    explanation: ReadOnlyObject

    def describe(self) -> str:
        """Return it in one line: the component that stops the pod, the compared facts, a change that would help."""
        return "; ".join([*self.explanation["deeds"], *self._describe_obstacle(), *self._describe_remedies()])

    def _describe_obstacle(self) -> Iterator[str]:
        obstacle = self.explanation["obstacle"]
        if obstacle is None:
            return
        nodes = [f"{one['node']}: {_format_rejection(one)}" for one in self.explanation["nodes"]]
        if obstacle["stage"] == _SCHEDULED and nodes and not self.explanation["decision"]:
            yield f"{obstacle['component']} rejects {'; '.join(nodes)}"
        else:
            detail = f" ({obstacle['detail']})" if obstacle["detail"] else ""
            yield f"{obstacle['component']} {obstacle['reason']}{detail}"

    def _describe_remedies(self) -> Iterator[str]:
        """Yield changes of components; changes of objects only if no component can help."""
        remedies = self.explanation["whatIf"]
        several = [one for one in remedies if one["component"]] or remedies
        if several:
            changes = (f"{one['component'] or one['kind']} {one['change']}" for one in several[:_REMEDIES_MAX])
            yield f"it would help: {', or '.join(changes)}"

    def lines(self) -> Sequence[str]:
        """Return it as `mockkube why` prints it."""
        return list(render_explanation(self.explanation))


def _format_rejection(one: ReadOnlyObject) -> str:
    detail = f" ({one['detail']})" if one["detail"] else ""
    return f"{', '.join(one['reasons'])}{detail}"


async def explain_harm(
    cluster: SimulatedCluster, intent: OperatorIntent, stored: StoredObjects, observations: Iterable[Observation]
) -> tuple[HarmExplanation, ...]:
    """Return the explanations of harmed pods, one for each workload and harm."""
    configuration = get_scheduler_configuration(cluster.config.flags.get(SCHEDULER, {}))
    explainer = PodExplainer(cluster.client(), _make_components(cluster), cluster.clock, configuration)
    found: dict[tuple[str, str], HarmExplanation] = {}
    tried: Counter[tuple[str, str]] = Counter()
    for pod, workload, harm in (*_harmed_pods(observations), *_waiting_pods(intent, stored)):
        if (workload, harm) in found or tried[workload, harm] >= _TRIED_MAX:
            continue
        tried[workload, harm] += 1
        try:
            explanation = await explainer.explain(Key(*pod.split("/", 1)))
        except NotFound:
            continue
        if _is_about_harm(explanation, harm):
            found[workload, harm] = HarmExplanation(pod, workload, harm, explanation.as_json())
    return tuple(found.values())


def _is_about_harm(explanation: PodExplanation, harm: str) -> bool:
    """Return whether an explanation is about this harm."""
    stopped = explanation.obstacle is None or explanation.obstacle.stage is _STAGES[harm]
    return stopped and explanation.fate == _FATES[harm]


def _harmed_pods(observations: Iterable[Observation]) -> Iterator[tuple[str, str, str]]:
    for observation in observations:
        if observation.kind in _FATES:
            yield observation.object, observation.workload or observation.object, observation.kind


def _waiting_pods(intent: OperatorIntent, stored: StoredObjects) -> Iterator[tuple[str, str, str]]:
    for name, pod in stored.list_objects(PODS).items():
        status = pod.get("status") or {}
        if status.get("phase") == "Pending" and not pod["spec"].get("nodeName"):
            workload = intent.workload_of(pod)
            yield name, workload.name if workload is not None else name, STUCK


def _make_components(cluster: SimulatedCluster) -> ClusterComponents:
    """Return the present components, and why some of them are idle."""
    components = cluster.get_component_specs()
    idle = {name: "it does not run" for name, spec in components.items() if not spec.should_run}
    scheduler = cluster.get_component(SCHEDULER)
    if isinstance(scheduler, Scheduler):
        unsynced = sorted(cache.kind for cache in scheduler.informers.workers if not cache.has_synced)
        if unsynced:
            idle[SCHEDULER] = f"it waits until its API server has listed {', '.join(unsynced)}"
    return make_cluster_components(components, idle)
