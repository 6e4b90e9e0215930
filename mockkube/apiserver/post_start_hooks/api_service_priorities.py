"""Priorities of APIServices: the order of groups, and of versions within a group."""

from collections.abc import Mapping
from typing import Final

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiServicePriority:
    """Priorities of a group and of a version in it; higher ones come first."""

    group: int
    version: int


# Priority of groups and versions from CRDs.
CRD_PRIORITY: Final = ApiServicePriority(1000, 100)

# upstream 1.36: cmd/kube-apiserver/app/aggregator.go, pkg/controlplane/apiserver/aggregator.go; and 1.33 to 1.37, which
# agree on what they share
_PRIORITIES: Final[Mapping[str, tuple[int, Mapping[str, int]]]] = {
    "": (18000, {"v1": 1}),
    "apps": (17800, {"v1": 15}),
    "events.k8s.io": (17750, {"v1": 15, "v1beta1": 5}),
    "authentication.k8s.io": (17700, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "authorization.k8s.io": (17600, {"v1": 15}),
    "autoscaling": (17500, {"v2": 30, "v1": 15, "v2beta1": 9, "v2beta2": 1}),
    "batch": (17400, {"v1": 15, "v1beta1": 9, "v2alpha1": 9}),
    "certificates.k8s.io": (17300, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "networking.k8s.io": (17200, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "policy": (17100, {"v1": 15, "v1beta1": 9}),
    "rbac.authorization.k8s.io": (17000, {"v1": 15}),
    "storage.k8s.io": (16800, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "admissionregistration.k8s.io": (16700, {"v1": 15, "v1beta1": 12, "v1alpha1": 9}),
    "apiextensions.k8s.io": (16700, {"v1": 15}),
    "scheduling.k8s.io": (16600, {"v1": 15, "v1beta1": 9, "v1alpha3": 3, "v1alpha2": 2, "v1alpha1": 1}),
    "coordination.k8s.io": (16500, {"v1": 15, "v1beta1": 13, "v1alpha2": 12}),
    "node.k8s.io": (16300, {"v1": 15, "v1beta1": 9, "v1alpha1": 1}),
    "discovery.k8s.io": (16200, {"v1": 15, "v1beta1": 12}),
    "resource.k8s.io": (16200, {"v1": 21, "v1beta2": 15, "v1beta1": 9, "v1alpha3": 1}),
    "flowcontrol.apiserver.k8s.io": (16100, {"v1": 21, "v1beta3": 18, "v1beta2": 15, "v1beta1": 12, "v1alpha1": 9}),
    "internal.apiserver.k8s.io": (16000, {"v1alpha1": 9}),
    "storagemigration.k8s.io": (15800, {"v1": 15, "v1beta1": 9, "v1alpha1": 9}),
    "lifecycle.k8s.io": (15700, {"v1alpha1": 1}),
}


def get_group_priority(group: str) -> int:
    """Return the priority of a group served here; custom groups come after built-in ones."""
    return _PRIORITIES[group][0] if group in _PRIORITIES else CRD_PRIORITY.group


def get_priority(group: str, version: str) -> ApiServicePriority | None:
    """Return the priority of a version of a built-in group; None for one without an APIService."""
    group_priority, versions = _PRIORITIES.get(group, (0, {}))
    version_priority = versions.get(version)
    return None if version_priority is None else ApiServicePriority(group_priority, version_priority)
