"""Check `expectEvent`: events that components have recorded about objects."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Literal

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Selection
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

_SHOWN_MAX = 5


@dataclass(frozen=True)
class ExpectEventCheck(ScenarioStep):
    """Check that there is an event like this, or none."""

    verb: ClassVar[str] = "expectEvent"

    reason: Annotated[str, "its reason, like FailedScheduling"] = ""
    message: Annotated[str, "a part of its message"] = ""
    type: Annotated[Literal["Normal", "Warning"] | None, "its type"] = None
    about: Annotated[
        Mapping[str, str], "members of the reference to its object: kind, name, namespace; `web-*`: begins so"
    ] = field(default_factory=dict)
    source: Annotated[str, "the component that reported it"] = ""
    namespace: Annotated[str | None, "where it is; null: that of the scenario, empty: anywhere"] = None
    count_min: Annotated[int, "minimum number of occurrences, all matching events together"] = 1
    count_max: Annotated[int | None, "maximum number"] = None
    absent: Annotated[bool, "claim that there is none"] = False
    timeout: Annotated[Seconds | None, "how long it has to come, in the time of the cluster"] = None

    async def play(self, world: World) -> None:
        """Let time pass until the event was recorded often enough; StepFailed if too rarely or too often."""

        async def holds() -> bool:
            return sum(map(_event_count, await self._list_matching(world))) >= self.count_min

        # Waiting for an absent event would always use up the timeout; at rest nothing more can be recorded now.
        if self.absent:
            await world.settle()
        else:
            await world.wait_until(holds, world.context.timeout if self.timeout is None else self.timeout)
        found = await self._list_matching(world)
        count = sum(map(_event_count, found))
        count_max = 0 if self.absent else self.count_max
        if (count_max is not None and count > count_max) or (not self.absent and count < self.count_min):
            raise StepFailed(f"occurred {count} times; {await self._describe_events(world)}")

    async def _list_matching(self, world: World) -> list[ReadOnlyObject]:
        """Return the events that match."""
        return [event for event in await self._list_events(world) if self._matches(event)]

    async def _list_events(self, world: World) -> list[ReadOnlyObject]:
        namespace = self.about.get("namespace", world.context.namespace) if self.namespace is None else self.namespace
        # Nodes have no namespace; upstream records their events in "default".
        if self.about.get("kind") == "Node":
            namespace = "default"
        return list((await world.client().list("Event", Selection(namespace=namespace))).items)

    def _matches(self, event: ReadOnlyObject) -> bool:
        about = event.get("involvedObject", {})
        return (
            self.reason in ("", event.get("reason"))
            and self.message in event.get("message", "")
            and self.type in (None, event.get("type"))
            and self.source in ("", event.get("reportingComponent"), event.get("source", {}).get("component"))
            and self._is_about(about)
        )

    def _is_about(self, reference: ReadOnlyObject) -> bool:
        return all(_matches_name(reference.get(name, ""), wanted) for name, wanted in self.about.items())

    async def _describe_events(self, world: World) -> str:
        """Describe the latest events about the same objects."""
        about = [
            f"{event.get('reason')}: {event.get('message')}"
            for event in await self._list_events(world)
            if self._is_about(event.get("involvedObject", {}))
        ]
        return "there are: " + "; ".join(about[-_SHOWN_MAX:]) if about else "there are no events about such objects"


def _matches_name(value: str, wanted: str) -> bool:
    """Return whether a member of a reference matches; a trailing asterisk matches any ending."""
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


def _event_count(event: ReadOnlyObject) -> int:
    """Return how often an event was recorded."""
    series = event.get("series") or {}
    return int(series.get("count") or event.get("count") or 1)
