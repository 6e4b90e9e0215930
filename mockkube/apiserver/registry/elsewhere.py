"""Versions of groups that other servers serve, as discovery tells of them and requests find them."""

from dataclasses import dataclass

from mockkube.api.types import Object, ReadOnlyObject


@dataclass(frozen=True, slots=True)
class Backend:
    """One version of a group that another server serves."""

    spec: ReadOnlyObject
    """That of its APIService."""
    available: bool
    resources: list[Object] | None = None
    """What it said that it has; None until it has said so, and once it cannot be asked."""
