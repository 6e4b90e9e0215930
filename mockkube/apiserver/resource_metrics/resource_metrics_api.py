"""API group metrics.k8s.io: its registration, its role, and access to its objects."""

# upstream metrics-server 0.8: pkg/api/install.go, manifests/base
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.aggregated_api import ComputedApi
from mockkube.apiserver.registry.options import ListOptions
from mockkube.apiserver.registry.registry import Registry

if TYPE_CHECKING:
    from mockkube.api.catalogue import KindInfo
    from mockkube.apiserver.resource_metrics.resource_metrics_objects import ResourceMetricsObjects

GROUP: Final = "metrics.k8s.io"
VERSION: Final = "v1beta1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
# upstream metrics-server 0.8: manifests/base/rbac.yaml
READER_ROLE: Final[Object] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "system:aggregated-metrics-reader",
        "labels": {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("admin", "edit", "view")},
    },
    "rules": [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}],
}
PODS: Final = "pods"


class ResourceMetricsApi(ComputedApi):
    """Resource metrics of one API server (upstream: metrics-server)."""

    spec: ClassVar[ReadOnlyObject] = {
        "group": GROUP,
        "version": VERSION,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    resources: ClassVar[Sequence[Object]] = (
        {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
        {"name": PODS, "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
    )

    reader_role: ClassVar[Object] = READER_ROLE

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @cached_property
    def _objects(self) -> "ResourceMetricsObjects":
        from mockkube.apiserver.resource_metrics.resource_metrics_objects import (
            ResourceMetricsObjects,  # many servers are never asked for usage
        )

        return ResourceMetricsObjects(self._registry)

    @property
    def kind_schemas(self) -> "Sequence[tuple[KindInfo, ReadOnlyObject]]":
        """Kinds with their OpenAPI schemas."""
        from mockkube.apiserver.resource_metrics.openapi_schemas import KIND_SCHEMAS  # for the first OpenAPI document

        return KIND_SCHEMAS

    def get_object(self, plural: str, namespace: str, name: str) -> Object:
        """Return the usage of a pod or node; raise NotFound while it has none."""
        return self._objects.get_object(plural, namespace, name)

    def list_objects(self, plural: str, namespace: str, options: ListOptions) -> list[Object]:
        """Return the usage of the selected pods or nodes."""
        return self._objects.list_objects(plural, namespace, options)

    def make_table(self, plural: str, objects: Sequence[ReadOnlyObject]) -> Object:
        """Return column definitions and cells as metrics-server has them: none without objects."""
        return self._objects.make_table(plural, objects)
