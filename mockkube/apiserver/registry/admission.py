"""Interface of admission plugins, and the request attributes they judge.

upstream 1.36: apiserver/pkg/admission/interfaces.go
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from mockkube.api.types import Object, ReadOnlyObject

if TYPE_CHECKING:
    from mockkube.apiserver.registry.resource import Call, Resource


class Operation(StrEnum):
    """Operations of admission requests."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True)
class Request:
    """Attributes of a request for admission. `obj` is in the storage version; a deletion has none."""

    operation: Operation
    resource: Resource
    call: Call
    obj: Object | None
    old: ReadOnlyObject | None
    dry_run: bool = False
    # Webhooks and policies that ran and ask to run again if the object changes afterwards.
    reinvocable: set[tuple[str, ...]] = field(default_factory=set)

    def about(self, group: str, plural: str, subresource: str = "") -> bool:
        """Return whether the request is for this resource and subresource."""
        resource = self.resource.home
        return resource.plural == plural and resource.group == group and self.call.subresource == subresource

    def of_kind(self, group: str, plural: str) -> bool:
        """Return whether the request is for this resource or one of its subresources."""
        return self.resource.home.plural == plural and self.resource.home.group == group

    @property
    def given(self) -> Object:
        """New object of a creation or an update."""
        assert self.obj is not None, "a deletion has no object"
        return self.obj

    @property
    def annotations(self) -> ReadOnlyObject:
        """Annotations of the new object."""
        return self.given["metadata"].get("annotations") or {}

    def find(self, group: str, plural: str) -> Resource:
        """Return another resource of the same server, in its storage version."""
        found = self.resource.services.find(group, plural)
        assert found is not None, f"no resource {plural}.{group}"
        return found


class Plugin:
    """Admission plugin. It rejects a request by raising an ApiError."""

    name: str
    # Operations the plugin handles; only these two have an object.
    operations: tuple[Operation, ...] = (Operation.CREATE, Operation.UPDATE)

    def admit(self, request: Request) -> None:
        """Change the object of the request, or reject it."""

    async def amend(self, request: Request, *, again: bool) -> bool:
        """Call webhooks or policies that may change the object; return whether it changed.

        They run after `admit` of every plugin. `reinvocation`: called again, because the object changed since.
        """
        return False

    def validate(self, request: Request) -> None:
        """Validate the object as it will be stored."""

    async def settle(self, request: Request) -> None:
        """Validate with calls that must be awaited, such as webhooks and quota; the last step before storing."""


class Admission(Protocol):
    """Interface of the enabled plugins, run in order: an AdmissionChain, or one that admits everything."""

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Enabled plugins, in order."""
        ...

    def admit(self, request: Request) -> None:
        """Call `admit` of every plugin, in order."""
        ...

    async def amend(self, request: Request) -> None:
        """Call mutating webhooks and policies, then `admit` of every plugin again if they changed the object."""
        ...

    def validate(self, request: Request) -> None:
        """Call `validate` of every plugin, in order."""
        ...

    async def settle(self, request: Request) -> None:
        """Call `validate_async` of every plugin, in order."""
        ...
