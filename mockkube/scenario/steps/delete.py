"""Step `delete`: delete objects and wait until they are gone."""

from typing import Annotated, Any, ClassVar, Literal

from mockkube.api.errors import ApiError, NotFound
from mockkube.client.protocol import Client, DeleteOptions, Key, Propagation
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.references import TargetReference, adapt_manifests, key_of_kind, load_manifests, with_namespace
from mockkube.scenario.responses import Expectation, check_response
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import RequestOptions, World


@dataclass(frozen=True)
class DeleteStep(ScenarioStep):
    """Delete objects, and wait until they are gone. A missing object is no failure, as in chainsaw."""

    verb: ClassVar[str] = "delete"

    ref: Annotated[TargetReference | None, "which objects go"] = None
    resource: Annotated[Any, "manifests of those that go"] = None
    file: Annotated[str, "a file of manifests of those that go"] = ""
    as_: Annotated[str, "the user of the request; an administrator by default"] = ""
    server: Annotated[str, "the API server that receives the request"] = API_SERVER
    wait: Annotated[bool, "whether to wait until they are gone"] = True
    timeout: Annotated[Seconds | None, "how long to wait, in the time of the cluster"] = None
    grace_period_seconds: Annotated[int | None, "how long pods have to end"] = None
    deletion_propagation_policy: Annotated[
        Literal["Background", "Foreground", "Orphan"] | None, "what becomes of dependents"
    ] = None
    expect: Annotated[tuple[Expectation, ...], "what must hold of each answer"] = ()

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept `KIND/NAME`, or manifests in place of the field `resource`."""
        return {"ref": node} if isinstance(node, str) else adapt_manifests(node)

    def complaint(self) -> str:
        """Return an error unless exactly one of `ref`, `resource` and `file` is given."""
        given = (self.ref is not None) + (self.resource is not None) + bool(self.file)
        return "" if given == 1 else "give one of `ref`, a manifest, or `file`"

    async def play(self, world: World) -> None:
        """Delete each object, check the response, then wait for all."""
        error: ApiError | None = None
        targets: list[tuple[ResourceKind, Key]] = []
        try:
            targets = await self.delete_objects(world)
        except NotFound as gone:
            # chainsaw treats a missing object as deleted, unless the step expects a response.
            error = gone if self.expect else None
        except ApiError as refused:
            error = refused
        check_response(world, self.expect, {}, {}, error)
        if self.wait and error is None:
            await self._wait_until_gone(world, targets)

    async def delete_objects(self, world: World) -> list[tuple[ResourceKind, Key]]:
        """Delete each object; return their kinds and keys. Raises ApiError for a rejection."""
        client = world.client(RequestOptions(self.as_, server=self.server))
        propagation = self.deletion_propagation_policy
        policy = None if propagation is None else Propagation(propagation)
        options = DeleteOptions(grace_seconds=self.grace_period_seconds, propagation=policy)
        targets = await self._find_targets(world, client)
        for named, key in targets:
            await client.delete(named.name, key, options)
        return targets

    async def _find_targets(self, world: World, client: Client) -> list[tuple[ResourceKind, Key]]:
        """Return kinds and keys of the objects to delete."""
        if self.ref is not None:
            named, keys = await self.ref.find_keys(world, client)
            return [(named, key) for key in keys]
        manifests = [
            await with_namespace(world, client, obj) for obj in load_manifests(world, self.resource, self.file)
        ]
        return [(named, key_of_kind(obj, named)) for named, obj in manifests]

    async def _wait_until_gone(self, world: World, remaining: list[tuple[ResourceKind, Key]]) -> None:
        """Wait until the objects are gone; StepFailed with those left at the timeout."""

        async def gone() -> bool:
            return not [key for named, key in remaining if await exists(world.client(), named, key)]

        seconds = world.context.deletion_timeout if self.timeout is None else self.timeout
        if not await world.wait_until(gone, seconds):
            left = [f"{named.kind} {key}" for named, key in remaining if await exists(world.client(), named, key)]
            raise StepFailed(f"still there after {seconds:g} s: {', '.join(left)}")


async def exists(client: Client, named: ResourceKind, key: Key) -> bool:
    """Return whether an object exists."""
    try:
        await client.get(named.name, key)
    except NotFound:
        return False
    return True
