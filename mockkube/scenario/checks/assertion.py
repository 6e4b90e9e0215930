"""Checks `assert` and `error`: objects that must exist, or must not, given as partial objects."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.bindings import resolve
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.matching import Difference, find_differences
from mockkube.scenario.references import adapt_manifests, find_candidates, load_manifests
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import RequestOptions, World

_IDENTIFYING_FIELDS = ("apiVersion", "kind", "metadata")
_IDENTIFYING_METADATA = ("name", "namespace", "labels")
_SHOWN_MAX = 6


@dataclass(frozen=True)
class PartialObjectCheck(ScenarioStep):
    """Check of objects against partial objects."""

    resource: Annotated[Tree | None, "a partial object, or a list of them; expressions in it are about the object"] = (
        None
    )
    file: Annotated[str, "a file of partial objects beside the scenario"] = ""
    server: Annotated[str, "the API server that receives the request"] = API_SERVER
    timeout: Annotated[Seconds | None, "how long it has to come true, in the time of the cluster"] = None

    adapt = staticmethod(adapt_manifests)

    def complaint(self) -> str:
        """Return an error unless exactly one of `resource` and `file` is given."""
        return "give a partial object, or a `file` of them" if (self.resource is None) == (not self.file) else ""

    async def play(self, world: World) -> None:
        """Let time pass until the check holds; StepFailed with the last differences at the timeout."""
        client = world.client(RequestOptions(server=self.server))
        expected = [
            _resolve_identity(obj, world.context.bindings) for obj in load_manifests(world, self.resource, self.file)
        ]
        last: list[str] = []

        async def holds() -> bool:
            last[:] = [text for obj in expected if (text := await self._check_object(world, client, obj))]
            return not last

        seconds = world.context.timeout if self.timeout is None else self.timeout
        if not await world.wait_until(holds, seconds):
            raise StepFailed("\n".join([f"not true within {seconds:g} s:", *last]))

    async def _check_object(self, world: World, client: Client, expected: Object) -> str:
        """Return what differs for one partial object; empty if nothing does."""
        try:
            named, found = await find_candidates(world, client, expected)
        except ApiError as error:
            return f"{expected['kind']}: {format_error(error)}"
        about = f"{named.kind} {expected.get('metadata', {}).get('name', '')}".strip()
        compared = [
            (obj, find_differences(_expected_content(expected), dict(obj), world.context.bindings)) for obj in found
        ]
        return self.find_mismatch(about, compared)

    @abstractmethod
    def find_mismatch(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """Return what is wrong with the objects found; empty if the check holds."""


def _resolve_identity(expected: Object, bindings: Mapping[str, Any]) -> Object:
    """Return a partial object with expressions in name, namespace and labels evaluated."""
    metadata = expected.get("metadata") or {}
    naming = {key: resolve(value, bindings) for key, value in metadata.items() if key in _IDENTIFYING_METADATA}
    return {**expected, **({"metadata": {**metadata, **naming}} if metadata else {})}


def _expected_content(expected: Object) -> Object:
    """Return the expected content of an object, without what identifies it."""
    # Labels identify the object and are compared, too: an expression in a label is no part of the selector.
    metadata = {
        key: value for key, value in (expected.get("metadata") or {}).items() if key not in _IDENTIFYING_METADATA[:2]
    }
    rest = {key: value for key, value in expected.items() if key not in _IDENTIFYING_FIELDS}
    return {**({"metadata": metadata} if metadata else {}), **rest}


@dataclass(frozen=True)
class AssertCheck(PartialObjectCheck):
    """Check that an object matches a partial one, immediately or in time."""

    verb: ClassVar[str] = "assert"

    def find_mismatch(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """Return the differences of the closest object if none matches."""
        if not compared:
            return f"{about}: not found"
        # Among several candidates the one with the fewest differences is most likely the one that was meant.
        obj, least = min(compared, key=lambda pair: len(pair[1]))
        if not least:
            return ""
        count = len(compared) - 1
        others = f" (and {count} other{'s' if count > 1 else ''})" if count else ""
        title = [f"{about or obj['kind']} {obj['metadata']['name']}{others}" if others else about]
        return "\n  ".join([f"{title[0]}:", *map(str, least[:_SHOWN_MAX])])


@dataclass(frozen=True)
class ErrorCheck(PartialObjectCheck):
    """Check that no object matches a partial one, immediately or in time."""

    verb: ClassVar[str] = "error"

    def find_mismatch(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """Return the objects that match."""
        matching = [obj["metadata"]["name"] for obj, found in compared if not found]
        if not matching:
            return ""
        shown = ", ".join(matching[:_SHOWN_MAX])
        return f"{about}: no object should match, but {shown} {'does' if len(matching) == 1 else 'do'}"
