"""Explain one pod: its state, what stops it, which single changes would help. Entry point of the package."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client, Key
from mockkube.explain import api_server, pod_fate
from mockkube.explain.api_server import DroppedFields
from mockkube.explain.components import ClusterComponents
from mockkube.explain.explanation import PodExplanation
from mockkube.explain.notes import collect_notes
from mockkube.explain.obstacle_finder import ObstacleFinder
from mockkube.explain.owners import find_owner
from mockkube.explain.pod_history import PodHistory, read_history
from mockkube.explain.recorded_cluster import RecordedCluster
from mockkube.explain.scheduling import SchedulingCase, SchedulingExplanation, explain
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

_EVENTS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class PodExplainer:
    """Explains pods of one cluster."""

    # A client of the newest API server that decodes without dropping fields.
    client: Client
    components: ClusterComponents
    clock: Clock
    # KubeSchedulerConfiguration of the scheduler, if it has one.
    configuration: ReadOnlyObject | None = None

    async def explain(self, key: Key) -> PodExplanation:
        """Return the explanation of a pod; NotFound if neither the pod nor events about it exist."""
        history = await read_history(self.client, key)
        state, actions = pod_fate.describe_fate(history), tuple(pod_fate.describe_actions(history, self.components))
        if history.pod is None:
            nothing = SchedulingExplanation(key, "", "", "", (), {})
            return PodExplanation(key, state, "", True, actions, None, nothing, (), (), _format_events(history))
        # A pod that is gone is still scheduled again: the answer tells what its successor would meet.
        case = await self._record_case(history.pod)
        owner = await find_owner(self.client, history.pod)
        finder = ObstacleFinder(self.components, history, case, await explain(case), owner)
        finding, loss = await finder.find_obstacle(), await self._find_dropped_fields(history.pod)
        obstacle, remedies = finding.obstacle, list(finding.remedies)
        # Dropped fields come first: storing what the user wrote is a smaller change than changing it.
        if loss is not None and obstacle is not None:
            remedies = [*[one async for one in finder.find_storage_remedies(loss, obstacle)], *remedies]
        note_texts = tuple(collect_notes(finder, obstacle, loss))
        return PodExplanation(
            key,
            state,
            finder.fate,
            history.is_gone,
            actions,
            obstacle,
            finder.scheduling,
            note_texts,
            remedies,
            _format_events(history),
        )

    async def _record_case(self, pod: ReadOnlyObject) -> SchedulingCase:
        """Return the pod and the cluster without it, as the scheduler decodes them."""
        caps = self.components.scheduler.caps
        recording = await RecordedCluster.from_client(self.client, caps, self.clock)
        # The recording shows what the newest server stores; a scheduler behind an older server sees fewer fields.
        if (server := self.components.scheduler.server).version != self.components.find_newest_server().caps.version:
            recording = replace(recording, server=server)
        without = recording.without("Pod", pod["metadata"].get("uid", ""))
        return SchedulingCase(pod, without, caps, self.clock, self.configuration)

    async def _find_dropped_fields(self, pod: ReadOnlyObject) -> DroppedFields | None:
        """Return the requested fields that are not stored; None if nothing was dropped."""
        requested = await api_server.find_requested_spec(self.client, pod)
        if requested is None:
            return None
        loss = DroppedFields(requested, pod, self.components, self.clock.now())
        return loss if loss.list_missing() else None


def _format_events(history: PodHistory) -> Sequence[str]:
    """Return the latest events as lines."""
    lines = []
    for event in history.events[-_EVENTS_MAX:]:
        component = event.get("reportingComponent") or (event.get("source") or {}).get("component") or "somebody"
        count = event.get("count") or (event.get("series") or {}).get("count") or 1
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"{event.get('reason', '')} by {component}{times}: {event.get('message', '')}")
    return lines
