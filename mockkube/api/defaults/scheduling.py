"""Defaults of PriorityClasses and PodGroups."""

from typing import Final

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

_LOWER: Final = "PreemptLowerPriority"


def default_priority_class(priority_class: Object, caps: Capabilities) -> None:
    """Default the preemption policy to PreemptLowerPriority."""
    # upstream 1.36: pkg/apis/scheduling/v1/defaults.go
    priority_class.setdefault("preemptionPolicy", _LOWER)


def default_pod_group_v1alpha2(group: Object, caps: Capabilities) -> None:
    """Default the disruption mode to single pods."""
    # upstream 1.36: pkg/apis/scheduling/v1alpha2/zz_generated.defaults.go
    group.setdefault("spec", {}).setdefault("disruptionMode", "Pod")


def default_pod_group(group: Object, caps: Capabilities) -> None:
    """Default the disruption mode to single pods, or single groups of a group."""
    # upstream 1.37: pkg/apis/scheduling/v1alpha3/defaults.go
    spec = group.setdefault("spec", {})
    spec.setdefault("disruptionMode", {"single": {}})
    if caps.enabled("PodGroupPreemptionPolicy"):
        spec.setdefault("preemptionPolicy", _LOWER)
