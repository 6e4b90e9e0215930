"""Aggregated API: a version of a group that another server serves, or that this one computes for each request."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.options import ListOptions
from mockkube.lazy_dataclasses import dataclass


class ComputedApi(Protocol):
    """API whose objects are computed for each request and not stored (metrics.k8s.io)."""

    @property
    def spec(self) -> ReadOnlyObject:
        """Spec of its APIService: group, version and their priorities."""
        ...

    @property
    def resources(self) -> Sequence[Object]:
        """Resources as its discovery document lists them."""
        ...

    @property
    def reader_role(self) -> Object:
        """ClusterRole that allows to read it."""
        ...

    @property
    def kind_schemas(self) -> Sequence[tuple[KindInfo, ReadOnlyObject]]:
        """Kinds with their OpenAPI schemas."""
        ...

    def get_object(self, plural: str, namespace: str, name: str) -> Object:
        """Return one object; raise NotFound."""
        ...

    def list_objects(self, plural: str, namespace: str, options: ListOptions) -> list[Object]:
        """Return the selected objects in the order of their keys; without a namespace those of all."""
        ...

    def make_table(self, plural: str, objects: Sequence[ReadOnlyObject]) -> Object:
        """Return column definitions and cells (`rows`) of objects."""
        ...


@dataclass(frozen=True, slots=True)
class AggregatedApi:
    """One version of a group that another server serves, or that is computed, for discovery and requests."""

    spec: ReadOnlyObject
    """Spec of the APIService."""
    is_available: bool
    # Resources from its discovery document; None until it has been fetched, and while the server cannot be reached.
    resources: Sequence[Object] | None = None
    computed: ComputedApi | None = None
    """API of this server; None: another server has it."""


@dataclass(frozen=True, slots=True)
class ComputedResource:
    """Resource of a computed API."""

    api: ComputedApi
    plural: str


def find_computed_resource(
    aggregated_apis: Mapping[tuple[str, str], AggregatedApi], kind: str
) -> ComputedResource | None:
    """Return the computed resource of a kind (`PodMetrics`, `PodMetrics.metrics.k8s.io`); None if there is none."""
    name, _, group = kind.partition(".")
    for (served_group, _), aggregated_api in aggregated_apis.items():
        if aggregated_api.computed is None or (group and group != served_group):
            continue
        for resource in aggregated_api.computed.resources:
            if resource["kind"] == name:
                return ComputedResource(aggregated_api.computed, resource["name"])
    return None
