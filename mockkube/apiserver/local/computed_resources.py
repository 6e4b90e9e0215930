"""Look up resources that the API server computes, such as PodMetrics, by kind."""

from mockkube.api.errors import NotFound
from mockkube.apiserver.registry.aggregated_api import ComputedApi
from mockkube.apiserver.registry.registry import Registry
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComputedResource:
    """Resource of a computed API."""

    api: ComputedApi
    plural: str


def find_computed_resource(registry: Registry, kind: str) -> ComputedResource | None:
    """Return the computed resource of a kind (`PodMetrics`, `PodMetrics.metrics.k8s.io`); None if there is none.

    Raise NotFound for one that another server serves, which components of the process do not reach.
    """
    name, _, group = kind.partition(".")
    for (served_group, _), aggregated_api in registry.aggregated_apis.items():
        if group and group != served_group:
            continue
        for resource in aggregated_api.resources or ():
            if resource["kind"] == name and "/" not in resource["name"]:
                if aggregated_api.computed is not None:
                    return ComputedResource(aggregated_api.computed, resource["name"])
                if group:
                    raise NotFound.for_path()
    return None
