"""Interface of admission plugins, and the request attributes they judge.

upstream 1.36: apiserver/pkg/admission/interfaces.go
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.apiserver.registry.resource import RequestScope, Resource
    from mockkube.apiserver.registry.watch_cache import Collection


class Operation(StrEnum):
    """Operations of admission requests."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True)
class AdmissionAttributes:
    """Attributes of a request for admission. `obj` is in the storage version; a deletion has none."""

    operation: Operation
    resource: Resource
    scope: RequestScope
    obj: Object | None
    old: ReadOnlyObject | None
    dry_run: bool = False
    # Webhooks and policies that ran and ask to run again if the object changes afterwards.
    reinvocable: set[tuple[str, ...]] = field(default_factory=set)

    def is_for(self, group: str, plural: str, subresource: str = "") -> bool:
        """Return whether the request is for this resource and subresource."""
        resource = self.resource.storage_resource
        return resource.plural == plural and resource.group == group and self.scope.subresource == subresource

    def is_for_resource(self, group: str, plural: str) -> bool:
        """Return whether the request is for this resource or one of its subresources."""
        return self.resource.storage_resource.plural == plural and self.resource.storage_resource.group == group

    @property
    def new(self) -> Object:
        """New object of a creation or an update."""
        assert self.obj is not None, "a deletion has no object"
        return self.obj

    @property
    def has_other_kind(self) -> bool:
        """Return whether its object is none of the resource: options of a connection, or a TokenRequest."""
        return self.obj is not None and self.obj.get("kind") != self.resource.kind.kind

    @property
    def annotations(self) -> ReadOnlyObject:
        """Annotations of the new object."""
        return self.new["metadata"].get("annotations") or {}

    def find_resource(self, group: str, plural: str) -> Resource:
        """Return another resource of the same server, in its storage version."""
        found = self.resource.dependencies.find_storage_resource(group, plural)
        assert found is not None, f"no resource {plural}.{group}"
        return found


class AdmissionPlugin:
    """Admission plugin. It rejects a request by raising an ApiError."""

    name: str
    # Operations the plugin handles; only these two have an object.
    operations: tuple[Operation, ...] = (Operation.CREATE, Operation.UPDATE)
    # Groups and plurals of the resources that the plugin handles, with their subresources; all if empty.
    resources: tuple[tuple[str, str], ...] = ()
    # Group and plural of the kind whose objects configure the plugin; without an object it does nothing.
    configured_by: tuple[str, str] | None = None
    # Objects of that kind, known from the first request on.
    _configuration: Collection | None = None

    def is_configured(self, request: AdmissionAttributes) -> bool:  # hot: several times per write
        """Return whether there is an object that configures the plugin, or it needs none.

        The chain asks before it awaits a plugin, because coroutines cost more than the answer.
        """
        if self._configuration is None:
            if self.configured_by is None:
                return True
            resource = request.resource.dependencies.find_storage_resource(*self.configured_by)
            if resource is None:
                return False
            self._configuration = resource.collection
        return bool(self._configuration.objects)

    def admit(self, request: AdmissionAttributes) -> None:
        """Change the object of the request, or reject it."""

    async def admit_async(self, request: AdmissionAttributes, *, reinvocation: bool) -> bool:
        """Call webhooks or policies that may change the object; return whether it changed.

        They run after `admit` of every plugin. `reinvocation`: called again, because the object changed since.
        """
        return False

    def validate(self, request: AdmissionAttributes) -> None:
        """Validate the object as it will be stored."""

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Validate with calls that must be awaited, such as webhooks and quota; the last step before storing."""

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether an update may have another outcome than an equal one before, but for times.

        A plugin that only compares the objects of a request has always the same. The request has no objects. The answer
        is the same for all objects of a kind in a namespace.
        """
        return True


class Admission(Protocol):
    """Interface of the enabled plugins, run in order: an AdmissionChain, or one that admits everything."""

    @property
    def plugins(self) -> tuple[AdmissionPlugin, ...]:
        """Enabled plugins, in order."""
        ...

    def admit(self, request: AdmissionAttributes) -> None:
        """Call `admit` of every plugin, in order."""
        ...

    async def admit_async(self, request: AdmissionAttributes) -> None:
        """Call mutating webhooks and policies, then `admit` of every plugin again if they changed the object."""
        ...

    def validate(self, request: AdmissionAttributes) -> None:
        """Call `validate` of every plugin, in order."""
        ...

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call `validate_async` of every plugin, in order."""
        ...

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether a plugin may decide anew about an update that repeats an earlier one."""
        ...


async def admit_unstored(request: AdmissionAttributes) -> Object:
    """Return the object of a request that stores nothing, as all plugins admit it."""
    admission = request.resource.dependencies.admission
    admission.admit(request)
    await admission.admit_async(request)
    admission.validate(request)
    await admission.validate_async(request)
    return request.new
