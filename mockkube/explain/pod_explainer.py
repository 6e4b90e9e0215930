"""Explain one pod: its state, what stops it, which single changes would help. Entry point of the package."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Client, Key
from mockkube.explain import api_server, pod_fate
from mockkube.explain.api_server import Loss
from mockkube.explain.components import Team
from mockkube.explain.explanation import Account
from mockkube.explain.inquiry import Inquiry
from mockkube.explain.notes import notes
from mockkube.explain.owners import owner_of
from mockkube.explain.pod_history import Memory, remember
from mockkube.explain.recorded_cluster import Recording
from mockkube.explain.scheduling import Case, Explanation, explain
from mockkube.runtime.clock import Clock

_EVENTS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class Question:
    """Explains pods of one cluster."""

    # A client of the newest API server that decodes without dropping fields.
    client: Client
    team: Team
    clock: Clock
    # KubeSchedulerConfiguration of the scheduler, if it has one.
    configuration: ReadOnlyObject | None = None

    async def account(self, key: Key) -> Account:
        """Return the explanation of a pod; NotFound if neither the pod nor events about it exist."""
        memory = await remember(self.client, key)
        state, deeds = pod_fate.state_text(memory), tuple(pod_fate.deeds(memory, self.team))
        if memory.pod is None:
            nothing = Explanation(key, "", "", "", (), {})
            return Account(key, state, "", True, deeds, None, nothing, (), (), _events(memory))
        # A pod that is gone is still scheduled again: the answer tells what its successor would meet.
        case = await self._case(memory.pod)
        owner = await owner_of(self.client, memory.pod)
        inquiry = Inquiry(self.team, memory, case, await explain(case), owner)
        finding, loss = await inquiry.finding(), await self._loss(memory.pod)
        obstacle, remedies = finding.obstacle, list(finding.remedies)
        # Dropped fields come first: storing what the user wrote is a smaller change than changing it.
        if loss is not None and obstacle is not None:
            remedies = [*[one async for one in inquiry.of_storing(loss, obstacle)], *remedies]
        note_texts = tuple(notes(inquiry, obstacle, loss))
        return Account(
            key,
            state,
            inquiry.fate,
            memory.gone,
            deeds,
            obstacle,
            inquiry.scheduling,
            note_texts,
            remedies,
            _events(memory),
        )

    async def _case(self, pod: ReadOnlyObject) -> Case:
        """Return the pod and the cluster without it, as the scheduler decodes them."""
        caps = self.team.scheduler.caps
        recording = await Recording.of(self.client, caps, self.clock)
        # The recording shows what the newest server stores; a scheduler behind an older server sees fewer fields.
        if (server := self.team.scheduler.server).version != self.team.newest_server().caps.version:
            recording = replace(recording, server=server)
        without = recording.without("Pod", pod["metadata"].get("uid", ""))
        return Case(pod, without, caps, self.clock, self.configuration)

    async def _loss(self, pod: ReadOnlyObject) -> Loss | None:
        """Return the requested fields that are not stored; None if nothing was dropped."""
        wish = await api_server.wish_for(self.client, pod)
        if wish is None:
            return None
        loss = Loss(wish, pod, self.team, self.clock.now())
        return loss if loss.missing() else None


def _events(memory: Memory) -> Sequence[str]:
    """Return the latest events as lines."""
    lines = []
    for event in memory.events[-_EVENTS_MAX:]:
        component = event.get("reportingComponent") or (event.get("source") or {}).get("component") or "somebody"
        count = event.get("count") or (event.get("series") or {}).get("count") or 1
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"{event.get('reason', '')} by {component}{times}: {event.get('message', '')}")
    return lines
