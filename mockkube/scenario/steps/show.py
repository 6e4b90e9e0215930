"""Steps `get`, `describe`, `events`, `podLogs`: show objects, as chainsaw does on failure; `get` can check, too."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import Annotated, Any, ClassVar

import yaml

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Selection
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepNotSupported
from mockkube.scenario.references import TargetReference
from mockkube.scenario.responses import Expectation, Output, bind_outputs, check_response
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ShowStep(ScenarioStep):
    """Show objects in the log; checks nothing."""

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

    def make_reference(self) -> TargetReference:
        """Return the reference to the objects."""
        pairs = (pair.partition("=") for pair in self.selector.split(",") if pair)
        labels = {**self.labels, **{key: value for key, _, value in pairs}}
        return TargetReference(self.kind or self.resource, self.name, self.api_version, self.namespace, labels)


@dataclass(frozen=True)
class GetStep(ShowStep):
    """Show which objects there are; expectations and outputs are about the list of them."""

    verb: ClassVar[str] = "get"

    expect: Annotated[tuple[Expectation, ...], "what must hold of them, as {items: [...]}"] = ()
    outputs: Annotated[tuple[Output, ...], "names for what is in {items: [...]}"] = ()

    async def play(self, world: World) -> None:
        """Log the names; StepFailed if the objects are not as expected."""
        found = await self._list_objects(world)
        names = [f"{self.make_reference().kind} {obj['metadata']['name']}" for obj in found]
        world.context.add_log("\n".join(names) or f"no {self.make_reference().kind}")
        answer = {"items": found}
        check_response(world, self.expect, answer, answer, None)
        bind_outputs(world, self.outputs, answer)

    async def _list_objects(self, world: World) -> list[ReadOnlyObject]:
        client = world.client()
        named, keys = await self.make_reference().find_keys(world, client)
        found = []
        for key in keys:
            with suppress(NotFound):
                found.append(await client.get(named.name, key))
        return found


@dataclass(frozen=True)
class DescribeStep(ShowStep):
    """Show whole objects."""

    verb: ClassVar[str] = "describe"

    async def play(self, world: World) -> None:
        """Log each object as YAML."""
        client = world.client()
        named, keys = await self.make_reference().find_keys(world, client)
        for key in keys:
            try:
                obj = dict(await client.get(named.name, key))
            except NotFound:
                continue
            # kubectl hides managedFields, too: they would fill most of the output.
            metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
            world.context.add_log(yaml.safe_dump({**obj, "metadata": metadata}, sort_keys=False))


@dataclass(frozen=True)
class EventsStep(ShowStep):
    """Show events."""

    verb: ClassVar[str] = "events"

    async def play(self, world: World) -> None:
        """Log every event of the namespace, or those about one object."""
        namespace = self.namespace or world.context.namespace
        for event in (await world.client().list("Event", Selection(namespace))).items:
            about = event.get("involvedObject", {})
            if self.name in ("", about.get("name")):
                what = f"{about.get('kind', '')}/{about.get('name', '')}"
                world.context.add_log(f"{event.get('type')} {event.get('reason')} {what}: {event.get('message')}")


@dataclass(frozen=True)
class PodLogsStep(ShowStep):
    """Accepted for chainsaw's sake: containers do not run, so they write no logs."""

    verb: ClassVar[str] = "podLogs"

    async def play(self, world: World) -> None:
        """Refuse: no container writes a log."""
        raise StepNotSupported("no container runs here, so none writes a log")
