"""Interface of admission plugins, and the request that they judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from mockkube.api.types import Object, ReadOnlyObject

if TYPE_CHECKING:
    from mockkube.apiserver.registry.resource import Call, Resource


class Operation(StrEnum):
    """What a request is about to do."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True)
class Request:
    """A request on its way into the store. `obj` is in the storage version; a deletion has none."""

    operation: Operation
    resource: Resource
    call: Call
    obj: Object | None
    old: ReadOnlyObject | None
    dry_run: bool = False
    reinvocable: set[tuple[str, ...]] = field(default_factory=set)
    """What was played on it and wants to be played again if the object changes after that."""

    def about(self, group: str, plural: str, subresource: str = "") -> bool:
        """Whether the request is to this resource and subresource."""
        resource = self.resource.home
        return resource.plural == plural and resource.group == group and self.call.subresource == subresource

    def of_kind(self, group: str, plural: str) -> bool:
        """Whether the request is to this resource or a subresource of it."""
        return self.resource.home.plural == plural and self.resource.home.group == group

    @property
    def given(self) -> Object:
        """The object of a creation or an update."""
        assert self.obj is not None, "a deletion has no object"
        return self.obj

    @property
    def annotations(self) -> ReadOnlyObject:
        """The annotations of the object."""
        return self.given["metadata"].get("annotations") or {}

    def find(self, group: str, plural: str) -> Resource:
        """Another resource of the same server, to look things up in."""
        found = self.resource.services.find(group, plural)
        assert found is not None, f"no resource {plural}.{group}"
        return found


class Plugin:
    """One admission plugin. It says no by raising an ApiError."""

    name: str
    operations: tuple[Operation, ...] = (Operation.CREATE, Operation.UPDATE)
    """The operations it is asked about; only these two have an object."""

    def admit(self, request: Request) -> None:
        """Change the object of the request, or refuse it."""

    async def amend(self, request: Request, *, again: bool) -> bool:
        """Let others change the object, once every plugin has; return whether it changed.

        `again`: something has changed since this was asked first.
        """
        return False

    def validate(self, request: Request) -> None:
        """Judge the object as it will be stored."""

    async def settle(self, request: Request) -> None:
        """Set aside what the request uses up, or refuse it: the last step before the object is stored."""


class Admission(Protocol):
    """All enabled plugins, run in order; the chain in `admission/chain.py`, or one that admits everything."""

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The enabled plugins, in order."""
        ...

    def admit(self, request: Request) -> None:
        """Let every plugin change the object, in order."""
        ...

    async def amend(self, request: Request) -> None:
        """Let webhooks and policies change the admitted object; admit again what they changed."""
        ...

    def validate(self, request: Request) -> None:
        """Let every plugin judge the object, in order."""
        ...

    async def settle(self, request: Request) -> None:
        """Let every plugin reserve what the request uses up, such as quota."""
        ...
