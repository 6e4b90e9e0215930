"""Aggregated API: a version of a group that another server serves, or that this one computes for each request."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors.labels import EVERYTHING, LabelSelector
from mockkube.apiserver.registry.options import ListOptions
from mockkube.lazy_dataclasses import dataclass


class ComputedGroup(ABC):
    """Version of a group that this server answers without storing it."""

    @property
    @abstractmethod
    def spec(self) -> ReadOnlyObject:
        """Spec of its APIService: group, version and their priorities."""

    @property
    @abstractmethod
    def resources(self) -> Sequence[Object]:
        """Resources as its discovery document lists them."""

    @property
    def reader_role(self) -> Object | None:
        """ClusterRole that allows to read it; None: it brings none."""
        return None

    @property
    def kind_schemas(self) -> Sequence[tuple[KindInfo, ReadOnlyObject]]:
        """Kinds with their OpenAPI schemas."""
        return ()


class ComputedApi(ComputedGroup):
    """API whose objects are computed for each request (metrics.k8s.io)."""

    @abstractmethod
    def get_object(self, plural: str, namespace: str, name: str) -> Object:
        """Return one object; raise NotFound."""

    @abstractmethod
    def list_objects(self, plural: str, namespace: str, options: ListOptions) -> list[Object]:
        """Return the selected objects in the order of their keys; without a namespace those of all."""

    @abstractmethod
    def make_table(self, plural: str, objects: Sequence[ReadOnlyObject]) -> Object:
        """Return column definitions and cells (`rows`) of objects."""


@dataclass(frozen=True, slots=True)
class MetricValuesRequest:
    """Request for metric values: the segments of its path, and its selectors of objects and of values."""

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    labels: LabelSelector = EVERYTHING
    metric_labels: LabelSelector = EVERYTHING


class MetricValuesApi(ComputedGroup):
    """API of metric values, whose paths name metrics (custom.metrics.k8s.io, external.metrics.k8s.io)."""

    @abstractmethod
    def read_values(self, request: MetricValuesRequest) -> Object:
        """Return a list of values; raise NotFound for a metric that does not exist."""


@dataclass(frozen=True, slots=True)
class AggregatedApi:
    """One version of a group that another server serves, or that is computed, for discovery and requests."""

    spec: ReadOnlyObject
    """Spec of the APIService."""
    is_available: bool
    # Resources from its discovery document; None until it has been fetched, and while the server cannot be reached.
    resources: Sequence[Object] | None = None
    computed: ComputedGroup | None = None
    """API of this server; None: another server has it."""

    def list_resources(self) -> Sequence[Object] | None:
        """Return the resources as they are now; None while they are unknown."""
        return self.resources if self.computed is None else self.computed.resources


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
        computed = aggregated_api.computed
        if not isinstance(computed, ComputedApi) or (group and group != served_group):
            continue
        for resource in computed.resources:
            if resource["kind"] == name:
                return ComputedResource(computed, resource["name"])
    return None
