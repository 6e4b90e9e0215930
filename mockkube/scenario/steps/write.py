"""Base of the steps that write manifests: identity, copies, expectations and outputs."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.bindings import resolve
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.references import adapt_manifests, load_manifests, with_namespace
from mockkube.scenario.responses import Expectation, Output, bind_outputs, check_response
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import RequestOptions, World

# Variable that counts copies.
INDEX: Final = "index"
FieldValidation = Literal["Ignore", "Warn", "Strict"]


@dataclass(frozen=True)
class WriteStep(ScenarioStep):
    """Write manifests, one after the other."""

    resource: Annotated[Tree | None, "the manifest, or a list of them"] = None
    file: Annotated[str, "a file of manifests beside the scenario, instead of `resource`"] = ""
    copies: Annotated[int | None, "write all of it so many times; `($index)` counts from 0"] = None
    as_: Annotated[str, "the user of the request; an administrator by default"] = ""
    groups: Annotated[tuple[str, ...], "the groups of that user"] = ()
    server: Annotated[str, "the API server that receives the request"] = API_SERVER
    field_validation: Annotated[FieldValidation, "what becomes of unknown fields"] = "Warn"
    dry_run: Annotated[bool, "only ask what would come of it"] = False
    timeout: Annotated[Seconds | None, "accepted for chainsaw and ignored: responses are immediate"] = None
    expect: Annotated[tuple[Expectation, ...], "what must hold of each answer"] = ()
    outputs: Annotated[tuple[Output, ...], "names for what is in the answers"] = ()

    adapt = staticmethod(adapt_manifests)

    def complaint(self) -> str:
        """Return an error unless exactly one of `resource` and `file` is given."""
        if (self.resource is None) == (not self.file):
            return "give a manifest, or a `file` of them"
        return ""

    def request_options(self) -> RequestOptions:
        """Return identity and options of the requests."""
        return RequestOptions(
            self.as_, self.groups, self.server, self.field_validation, f"mockkube-{self.verb}", self.dry_run
        )

    async def play(self, world: World) -> None:
        """Write each manifest; StepFailed for the first response that is not as expected."""
        client = world.client(self.request_options())
        for obj in self.list_manifests(world):
            resource_kind, manifest = await with_namespace(world, client, obj)
            answer: ReadOnlyObject = {}
            error = None
            try:
                answer = await self.write_object(client, resource_kind, manifest)
            except ApiError as refused:
                error = refused
            check_response(world, self.expect, manifest, answer, error)
            bind_outputs(world, self.outputs, answer)

    def list_manifests(self, world: World) -> Sequence[Object]:
        """Return the manifests, as many times as `copies` says."""
        bindings = world.context.bindings
        if self.copies is None:
            return load_manifests(world, resolve(self.resource, bindings), self.file)
        # Resolved once for each copy, because names in the manifest depend on the index.
        counted = [resolve(self.resource, {**bindings, INDEX: index}) for index in range(self.copies)]
        return [obj for resource in counted for obj in load_manifests(world, resource, self.file)]

    @abstractmethod
    async def write_object(self, client: Client, named: ResourceKind, obj: Object) -> ReadOnlyObject:
        """Write one manifest; raises ApiError for a rejection."""
