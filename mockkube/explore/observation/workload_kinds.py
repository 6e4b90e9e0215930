"""Find the pod spec in an object that is a pod or makes pods: also in custom resources, by the usual place of it."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.control.schemas import GROUP
from mockkube.proposals.scheduling_fields import LocatedValue

# Place of the pod template in most custom resources, as in workloads of Kubernetes.
_CUSTOM_PATH: Final = ("spec", "template", "spec")
_NO_OWNERS: Final = "PodTemplate"


def is_custom(obj: ReadOnlyObject) -> bool:
    """Return whether an object is a custom resource of users."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    return "." in group and group != GROUP and not group.endswith(".k8s.io")


def find_pod_spec_path(obj: ReadOnlyObject) -> tuple[str, ...] | None:
    """Return where the pod spec of a kind is; None for kinds without one."""
    known = POD_SPEC_PATHS.get(obj.get("kind", ""))
    return known or (_CUSTOM_PATH if is_custom(obj) else None)


def find_pod_spec(obj: ReadOnlyObject) -> LocatedValue | None:
    """Return the pod spec of an object; None if its kind has none, or if it is a custom resource without one."""
    path = find_pod_spec_path(obj)
    if path is None:
        return None
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
        value = value or {}
    return None if path is _CUSTOM_PATH and not value else LocatedValue(".".join(path), value)


def is_workload(obj: ReadOnlyObject) -> bool:
    """Return whether an object is a pod, or has pods made of its template."""
    return obj.get("kind") != _NO_OWNERS and find_pod_spec(obj) is not None
