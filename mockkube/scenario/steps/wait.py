"""Step `wait`: wait until objects have a condition or a value, exist, or are gone."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.jsonpath import PathError, compile_path
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.wait_conditions import has_condition, has_value
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds
from mockkube.scenario.references import TargetReference
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ExpectedCondition:
    """A condition to wait for."""

    name: Annotated[str, "its type"]
    value: Annotated[str, "its status"] = "True"


@dataclass(frozen=True)
class ExpectedJsonPath:
    """A value to wait for."""

    path: Annotated[str, "where: {.status.phase}"]
    value: Annotated[str, "what"]


@dataclass(frozen=True)
class WaitTarget:
    """The state to wait for."""

    condition: Annotated[ExpectedCondition | None, "a condition"] = None
    json_path: Annotated[ExpectedJsonPath | None, "a value"] = None
    deletion: Annotated[Mapping[str, Any] | None, "that they are gone: {}"] = None
    create: Annotated[Mapping[str, Any] | None, "that they are there: {}"] = None


@dataclass(frozen=True)
class WaitStep(ScenarioStep):
    """Wait for objects, as kubectl wait does."""

    verb: ClassVar[str] = "wait"

    kind: Annotated[str, "their kind"]
    for_: Annotated[WaitTarget, "what is waited for"]
    api_version: Annotated[str, "where the kind is of"] = ""
    name: Annotated[str, "the name of one"] = ""
    namespace: Annotated[str, "their namespace; empty: that of the scenario"] = ""
    labels: Annotated[Mapping[str, str], "labels that they have"] = field(default_factory=dict)
    selector: Annotated[str, "the same, as kubectl takes it: app=web"] = ""
    timeout: Annotated[Seconds | None, "how long, in the time of the cluster"] = None

    async def play(self, world: World) -> None:
        """Let time pass until all objects have the state; StepFailed at the timeout."""

        async def holds() -> bool:
            return await self._holds(world)

        seconds = world.context.timeout if self.timeout is None else self.timeout
        if not await world.wait_until(holds, seconds):
            raise StepFailed(f"timed out waiting for {self._make_reference()} after {seconds:g} s: {self.for_}")

    def _make_reference(self) -> TargetReference:
        pairs = (pair.partition("=") for pair in self.selector.split(",") if pair)
        labels = {**self.labels, **{key: value for key, _, value in pairs}}
        return TargetReference(self.kind, self.name, self.api_version, self.namespace, labels)

    async def _holds(self, world: World) -> bool:
        """Return whether all objects have the state."""
        client = world.client()
        named, keys = await self._make_reference().find_keys(world, client)
        objects = []
        for key in keys:
            try:
                objects.append(await client.get(named.name, key))
            except NotFound:
                continue
        if self.for_.deletion is not None:
            return not objects
        # As with kubectl, waiting for no object at all is no success.
        return len(objects) == len(keys) > 0 and all(map(self._has_state, objects))

    def _has_state(self, obj: ReadOnlyObject) -> bool:
        """Return whether one object has the state."""
        if (wanted := self.for_.condition) is not None:
            return has_condition(obj, wanted.name, wanted.value)
        if (at := self.for_.json_path) is not None:
            try:
                path = compile_path(at.path.removeprefix("{").removesuffix("}"))
            except PathError:
                return False
            return has_value(obj, path, at.value)
        return True
