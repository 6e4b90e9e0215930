"""Aggregated API: a version of a group that another server serves."""

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AggregatedApi:
    """One version of a group that another server serves, for discovery and proxying."""

    spec: ReadOnlyObject
    """Spec of the APIService."""
    is_available: bool
    # Resources from its discovery document; None until it has been fetched, and while the server cannot be reached.
    resources: list[Object] | None = None
