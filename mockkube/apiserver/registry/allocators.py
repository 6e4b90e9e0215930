"""What a server hands out of a pool: cluster IPs and node ports of services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockkube.api.types import Object, ReadOnlyObject

if TYPE_CHECKING:
    from mockkube.apiserver.registry.cache import Record
    from mockkube.apiserver.registry.resource import Resource


class Reservation:
    """What was taken for a write that has not happened yet."""

    def release(self) -> None:
        """Give it back."""


class Allocators:
    """The pools of one cluster."""

    def reserve(self, home: Resource, new: Object, old: ReadOnlyObject | None) -> Reservation:
        """Take from the pools what the object needs, and write it into the object."""
        return Reservation()

    def release(self, home: Resource, record: Record) -> None:
        """Give back what a deleted object held."""
