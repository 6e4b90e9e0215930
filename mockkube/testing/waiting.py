"""`kube.wait`: wait until objects have a state, and explain why they do not have it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

import yaml

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.resource import Resource
from mockkube.client.protocol import Key, key_of
from mockkube.cluster.control_plane import ControlPlane
from mockkube.cluster.execution.virtual_time_executor import VirtualTimeExecutor
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import RealClock
from mockkube.testing.clock import KubeClock
from mockkube.testing.errors import WaitTimeoutError
from mockkube.testing.expectation import Expectation
from mockkube.testing.objects import ClusterObjects, listening
from mockkube.testing.spy import Spy

# Objects are read again after this time, too: a restarted API server notifies about no change.
_POLL_SECONDS: Final = 0.2
# Clients that watch work in real time: virtual time passes when they have been silent for so long.
_QUIET_SECONDS: Final = 0.05
_QUIET_PER_LATE_SECOND: Final = 20.0
_QUIET_SECONDS_MAX: Final = 2.0
_EVENTS_MAX: Final = 10
_OBJECTS_MAX: Final = 5
_STATUS_CHARACTERS_MAX: Final = 2000
_LINE_CHARACTERS_MAX: Final = 1000
_WHY_LINES_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class WaitTarget:
    """Objects to wait for: one by name, or those with the labels."""

    resource: str
    name: str
    namespace: str
    selector: str

    @classmethod
    def parse(cls, text: str, namespace: str, selector: str) -> "WaitTarget":
        """Return the target of a text as kubectl takes it: `pod/web`, or `pods`."""
        resource, _, name = text.partition("/")
        if name and selector:
            raise ValueError(f"{text!r} names one object: leave out the name or the selector")
        return cls(resource, name, namespace, selector)

    def __str__(self) -> str:
        labels = f" with {self.selector}" if self.selector else ""
        return f"{self.resource}{f'/{self.name}' if self.name else ''}{labels}"


class ObjectWaiter:
    """Waits for states of objects, in real or virtual time; its methods run in the event loop of the cluster."""

    def __init__(self, control_plane: ControlPlane, objects: ClusterObjects, clock: KubeClock, spy: Spy) -> None:
        self._control_plane, self._objects, self._kube_clock, self._spy = control_plane, objects, clock, spy
        self._real_clock = RealClock()

    async def wait(self, target: WaitTarget, expectation: Expectation, limit: timedelta) -> list[Object]:
        """Return the objects when all have the state; WaitTimeoutError with their present state at the limit."""
        executor = self._control_plane.virtual_executor
        if executor is None:
            found = await self._wait_in_real_time(target, expectation, limit)
        else:
            found = await self._wait_in_virtual_time(target, expectation, limit, executor)
        if found is None:
            raise WaitTimeoutError(await self._explain(target, expectation, limit))
        return found

    async def _wait_in_real_time(
        self, target: WaitTarget, expectation: Expectation, limit: timedelta
    ) -> list[Object] | None:
        deadline = self._real_clock.monotonic() + limit.total_seconds()
        while True:
            seconds_left = deadline - self._real_clock.monotonic()
            found = await self._check_or_wait_for_change(target, expectation, min(seconds_left, _POLL_SECONDS))
            if found is not None or seconds_left <= 0:
                return found

    async def _wait_in_virtual_time(
        self, target: WaitTarget, expectation: Expectation, limit: timedelta, executor: VirtualTimeExecutor
    ) -> list[Object] | None:
        deadline = self._kube_clock.now() + limit
        quiet_seconds = _QUIET_SECONDS
        while True:
            now = self._kube_clock.now()
            await executor.advance_to(now)
            # Also those that watch get their time, before that of the cluster passes.
            quiet_in, began = self._spy.find_quiet_moment(quiet_seconds), self._real_clock.monotonic()
            found = await self._check_or_wait_for_change(target, expectation, quiet_in)
            if found is not None:
                return found
            if quiet_in:
                # On a busy machine a wait takes longer than it should, and so does the work of a client.
                late = self._real_clock.monotonic() - began - quiet_in
                quiet_seconds = min(max(quiet_seconds, _QUIET_PER_LATE_SECOND * late), _QUIET_SECONDS_MAX)
                continue
            if now >= deadline:
                return None
            moment = executor.find_next_moment()
            await self._kube_clock.move_to(executor, deadline if moment is None else min(moment, deadline))

    async def _check_or_wait_for_change(
        self, target: WaitTarget, expectation: Expectation, seconds: float
    ) -> list[Object] | None:
        """Return the objects if all have the state; else wait for a change of one, at most for some seconds."""
        resource, changed = self._objects.find_resource(target.resource), asyncio.Event()
        with listening(resource, changed.set):
            objects = await self._select(resource, target)
            if _is_met(objects, target, expectation):
                return objects
            if seconds > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await changed.wait()
        return None

    async def _select(self, resource: Resource, target: WaitTarget) -> list[Object]:
        if not target.name:
            return await self._objects.select(resource, target.namespace, target.selector)
        obj = await self._objects.read(resource, target.namespace, target.name)
        return [] if obj is None else [obj]

    # Explanations

    async def _explain(self, target: WaitTarget, expectation: Expectation, limit: timedelta) -> str:
        resource = self._objects.find_resource(target.resource)
        objects = await self._select(resource, target)
        lines = [f"{target}: not {expectation.text} after {limit.total_seconds():g} s"]
        if not objects:
            lines += await self._explain_absence(resource, target)
        missing = [obj for obj in objects if not expectation.holds(obj)]
        for obj in missing[:_OBJECTS_MAX]:
            lines += [f"{key_of(obj)}: {expectation.explain(obj)}", *_indent(await self._describe(resource, obj))]
        if len(missing) > _OBJECTS_MAX:
            lines.append(f"... and {len(missing) - _OBJECTS_MAX} more")
        return "\n".join(lines)

    async def _explain_absence(self, resource: Resource, target: WaitTarget) -> list[str]:
        others = [str(key_of(obj)) for obj in await self._objects.select(resource, "")]
        place = f" in namespace {target.namespace}" if resource.kind.namespaced else ""
        known = f"; there are {', '.join(others[:_EVENTS_MAX])}" if others else f"; there are no {resource.plural}"
        return [f"it does not exist{place}{known}"]

    async def _describe(self, resource: Resource, obj: ReadOnlyObject) -> list[str]:
        """Return status, reason and events of an object."""
        status = yaml.safe_dump(obj.get("status", {}), sort_keys=False, width=_LINE_CHARACTERS_MAX).strip()
        lines = ["status:", *_indent(status[:_STATUS_CHARACTERS_MAX].splitlines())]
        if (resource.group, resource.plural) == ("", "pods"):
            lines += await self._explain_pod(key_of(obj))
        events = await self._list_events(obj)
        return [*lines, "events:", *_indent(events)] if events else [*lines, "no events"]

    async def _explain_pod(self, key: Key) -> list[str]:
        from mockkube.explain.rendering import render_explanation

        try:
            explanation = await self._control_plane.pod_explanations.explain(key)
        except ApiError as error:
            return [f"why: {error}"]
        return ["why:", *_indent(list(render_explanation(explanation.as_json()))[:_WHY_LINES_MAX])]

    async def _list_events(self, obj: ReadOnlyObject) -> list[str]:
        # Events of cluster-scoped objects are in the namespace default.
        namespace = obj["metadata"].get("namespace", "default")
        events = await self._objects.select(self._objects.find_resource("events"), namespace)
        own = [one for one in events if one["involvedObject"].get("uid") == obj["metadata"]["uid"]]
        own.sort(key=lambda one: one.get("lastTimestamp") or one.get("eventTime") or "")
        return [_format_event(one) for one in own[-_EVENTS_MAX:]]


def _is_met(objects: Sequence[ReadOnlyObject], target: WaitTarget, expectation: Expectation) -> bool:
    if expectation.is_deletion:
        return not objects
    # As with kubectl, waiting for no object at all is no success.
    return bool(objects) and all(map(expectation.holds, objects))


def _format_event(event: ReadOnlyObject) -> str:
    source = event.get("reportingComponent") or event.get("source", {}).get("component", "")
    times = f" (x{event['count']})" if event.get("count", 1) > 1 else ""
    return f"{event.get('type', '')} {event.get('reason', '')}{times} {source}: {event.get('message', '')}"


def _indent(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
