"""`expectEvent`: what components have told of objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Selection
from mockkube.scenario.errors import Failure
from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import Step
from mockkube.scenario.world import World

_SHOWN_MAX = 5


@dataclass(frozen=True)
class ExpectEvent(Step):
    """Claims that there is an event like this, or none."""

    verb: ClassVar[str] = "expectEvent"

    reason: Annotated[str, "its reason, like FailedScheduling"] = ""
    message: Annotated[str, "a part of its message"] = ""
    type: Annotated[Literal["Normal", "Warning"] | None, "its type"] = None
    about: Annotated[
        Mapping[str, str], "members of the reference to its object: kind, name, namespace; `web-*`: begins so"
    ] = field(default_factory=dict)
    source: Annotated[str, "the component that told it"] = ""
    namespace: Annotated[str | None, "where it is; null: that of the scenario, empty: anywhere"] = None
    count_min: Annotated[int, "how often it was told at least, all such events together"] = 1
    count_max: Annotated[int | None, "how often at most"] = None
    absent: Annotated[bool, "claim that there is none"] = False
    timeout: Annotated[Seconds | None, "how long it has to come, in the time of the cluster"] = None

    async def play(self, world: World) -> None:
        """Let time pass until it was told often enough; more than at most is a failure at once."""

        async def holds() -> bool:
            return sum(map(_times, await self._found(world))) >= self.count_min

        if self.absent:
            await world.settle()
        else:
            await world.until(holds, world.scene.timeout if self.timeout is None else self.timeout)
        found = await self._found(world)
        told = sum(map(_times, found))
        most = 0 if self.absent else self.count_max
        if (most is not None and told > most) or (not self.absent and told < self.count_min):
            raise Failure(f"told {told} times; {await self._nearby(world)}")

    async def _found(self, world: World) -> list[ReadOnlyObject]:
        return [event for event in await self._events(world) if self._is_such(event)]

    async def _events(self, world: World) -> list[ReadOnlyObject]:
        namespace = self.about.get("namespace", world.scene.namespace) if self.namespace is None else self.namespace
        if self.about.get("kind") == "Node":
            namespace = "default"
        return list((await world.client().list("Event", Selection(namespace=namespace))).items)

    def _is_such(self, event: ReadOnlyObject) -> bool:
        about = event.get("involvedObject", {})
        return (
            self.reason in ("", event.get("reason"))
            and self.message in event.get("message", "")
            and self.type in (None, event.get("type"))
            and self.source in ("", event.get("reportingComponent"), event.get("source", {}).get("component"))
            and self._is_about(about)
        )

    def _is_about(self, reference: ReadOnlyObject) -> bool:
        return all(_is(reference.get(name, ""), wanted) for name, wanted in self.about.items())

    async def _nearby(self, world: World) -> str:
        """Tell of the events there are about such objects."""
        about = [
            f"{event.get('reason')}: {event.get('message')}"
            for event in await self._events(world)
            if self._is_about(event.get("involvedObject", {}))
        ]
        return "there are: " + "; ".join(about[-_SHOWN_MAX:]) if about else "there are no events about such objects"


def _is(value: str, wanted: str) -> bool:
    """Whether a member of a reference is what is wanted; an asterisk, which no name has, says how it begins."""
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


def _times(event: ReadOnlyObject) -> int:
    """How often an event was told."""
    series = event.get("series") or {}
    return int(series.get("count") or event.get("count") or 1)
