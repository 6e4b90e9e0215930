"""`assert` and `error`: what is there, and what is not, told by partial objects."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mockkube.api.errors import ApiError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.features.components import API_SERVER
from mockkube.scenario.bindings import resolve
from mockkube.scenario.errors import Failure
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.matching import Difference, differences
from mockkube.scenario.outcomes import refusal
from mockkube.scenario.references import adapt_manifests, candidates, manifests
from mockkube.scenario.step import Step
from mockkube.scenario.world import Who, World

_REFERRING = ("apiVersion", "kind", "metadata")
_NAMING = ("name", "namespace", "labels")
_SHOWN_MAX = 6


@dataclass(frozen=True)
class Claim(Step):
    """Claims something of objects."""

    resource: Annotated[Tree | None, "a partial object, or a list of them; expressions in it are about the object"] = (
        None
    )
    file: Annotated[str, "a file of partial objects beside the scenario"] = ""
    server: Annotated[str, "the API server that is asked"] = API_SERVER
    timeout: Annotated[Seconds | None, "how long it has to come true, in the time of the cluster"] = None

    adapt = staticmethod(adapt_manifests)

    def complaint(self) -> str:
        """Ask for objects."""
        return "give a partial object, or a `file` of them" if (self.resource is None) == (not self.file) else ""

    async def play(self, world: World) -> None:
        """Let time pass until it is true."""
        client = world.client(Who(server=self.server))
        claimed = [_named(obj, world.scene.bindings) for obj in manifests(world, self.resource, self.file)]
        last: list[str] = []

        async def holds() -> bool:
            last[:] = [text for obj in claimed if (text := await self._wrong(world, client, obj))]
            return not last

        seconds = world.scene.timeout if self.timeout is None else self.timeout
        if not await world.until(holds, seconds):
            raise Failure("\n".join([f"not true within {seconds:g} s:", *last]))

    async def _wrong(self, world: World, client: Client, expected: Object) -> str:
        try:
            named, found = await candidates(world, client, expected)
        except ApiError as error:
            return f"{expected['kind']}: {refusal(error)}"
        about = f"{named.kind} {expected.get('metadata', {}).get('name', '')}".strip()
        compared = [(obj, differences(_content(expected), dict(obj), world.scene.bindings)) for obj in found]
        return self.wrong(about, compared)

    @abstractmethod
    def wrong(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """Return what is not as claimed of the objects that may be meant; empty if all is."""


def _named(expected: Object, bindings: Mapping[str, Any]) -> Object:
    """Return a partial object with everything evaluated that says which object it is."""
    metadata = expected.get("metadata") or {}
    naming = {key: resolve(value, bindings) for key, value in metadata.items() if key in _NAMING}
    return {**expected, **({"metadata": {**metadata, **naming}} if metadata else {})}


def _content(expected: Object) -> Object:
    """Return what is claimed of an object, without what only says which object it is."""
    metadata = {key: value for key, value in (expected.get("metadata") or {}).items() if key not in _NAMING[:2]}
    rest = {key: value for key, value in expected.items() if key not in _REFERRING}
    return {**({"metadata": metadata} if metadata else {}), **rest}


@dataclass(frozen=True)
class Assert(Claim):
    """Claims that an object is as a partial one says, or becomes so in time."""

    verb: ClassVar[str] = "assert"

    def wrong(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """One of them must match."""
        if not compared:
            return f"{about}: not found"
        obj, least = min(compared, key=lambda pair: len(pair[1]))
        if not least:
            return ""
        count = len(compared) - 1
        others = f" (and {count} other{'s' if count > 1 else ''})" if count else ""
        told = [f"{about or obj['kind']} {obj['metadata']['name']}{others}" if others else about]
        return "\n  ".join([f"{told[0]}:", *map(str, least[:_SHOWN_MAX])])


@dataclass(frozen=True)
class Error(Claim):
    """Claims that no object is as a partial one says, or that there is none any more in time."""

    verb: ClassVar[str] = "error"

    def wrong(self, about: str, compared: Sequence[tuple[ReadOnlyObject, list[Difference]]]) -> str:
        """None of them may match."""
        matching = [obj["metadata"]["name"] for obj, found in compared if not found]
        if not matching:
            return ""
        shown = ", ".join(matching[:_SHOWN_MAX])
        return f"{about}: no object should match, but {shown} {'does' if len(matching) == 1 else 'do'}"
