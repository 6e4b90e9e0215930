"""`events`, `get`, `describe`, `podLogs`: what chainsaw shows when something has failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import yaml

from mockkube.api.errors import NotFound
from mockkube.client.protocol import Selection
from mockkube.scenario.errors import Impossible
from mockkube.scenario.references import Ref
from mockkube.scenario.step import Step
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Showing(Step):
    """Shows something of objects; claims nothing."""

    api_version: Annotated[str, "where the kind is of"] = ""
    kind: Annotated[str, "their kind"] = ""
    resource: Annotated[str, "their kind, as kubectl takes it"] = ""
    name: Annotated[str, "the name of one"] = ""
    namespace: Annotated[str, "their namespace; empty: that of the scenario"] = ""
    selector: Annotated[str, "labels that they have"] = ""
    format: Annotated[str, "means nothing here"] = ""
    show_events: Annotated[bool, "means nothing here"] = True
    timeout: Annotated[Any, "means nothing here"] = None
    cluster: Annotated[str, "means nothing here"] = ""
    container: Annotated[str, "which container, of a pod's logs"] = ""
    tail: Annotated[int, "how many lines, of a pod's logs"] = 0
    labels: Annotated[Mapping[str, str], "labels that they have"] = field(default_factory=dict)

    def ref(self) -> Ref:
        """Return which objects are meant."""
        pairs = (pair.partition("=") for pair in self.selector.split(",") if pair)
        labels = {**self.labels, **{key: value for key, _, value in pairs}}
        return Ref(self.kind or self.resource, self.name, self.api_version, self.namespace, labels)


@dataclass(frozen=True)
class Get(Showing):
    """Shows which objects there are."""

    verb: ClassVar[str] = "get"

    async def play(self, world: World) -> None:
        """Tell their names."""
        _, keys = await self.ref().keys(world, world.client())
        world.scene.say("\n".join(f"{self.ref().kind} {key}" for key in keys) or f"no {self.ref().kind}")


@dataclass(frozen=True)
class Describe(Showing):
    """Shows objects as they are."""

    verb: ClassVar[str] = "describe"

    async def play(self, world: World) -> None:
        """Tell all of each."""
        client = world.client()
        named, keys = await self.ref().keys(world, client)
        for key in keys:
            try:
                obj = dict(await client.get(named.name, key))
            except NotFound:
                continue
            metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
            world.scene.say(yaml.safe_dump({**obj, "metadata": metadata}, sort_keys=False))


@dataclass(frozen=True)
class Events(Showing):
    """Shows what was told of objects."""

    verb: ClassVar[str] = "events"

    async def play(self, world: World) -> None:
        """Tell every event of the namespace, or those about one object."""
        namespace = self.namespace or world.scene.namespace
        for event in (await world.client().list("Event", Selection(namespace))).items:
            about = event.get("involvedObject", {})
            if self.name in ("", about.get("name")):
                what = f"{about.get('kind', '')}/{about.get('name', '')}"
                world.scene.say(f"{event.get('type')} {event.get('reason')} {what}: {event.get('message')}")


@dataclass(frozen=True)
class PodLogs(Showing):
    """Would show what containers write."""

    verb: ClassVar[str] = "podLogs"

    async def play(self, world: World) -> None:
        """There are no containers."""
        raise Impossible("no container runs here, so none writes a log")
