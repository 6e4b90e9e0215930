"""Defaults of HorizontalPodAutoscalers."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


# upstream 1.36: pkg/apis/autoscaling/v1/defaults.go, pkg/apis/autoscaling/v2/defaults.go
def default_autoscaler_v1(autoscaler: Object, caps: Capabilities) -> None:
    """Default to one replica; metrics are defaulted in the v2 form."""
    autoscaler.setdefault("spec", {}).setdefault("minReplicas", 1)


def default_autoscaler(autoscaler: Object, caps: Capabilities) -> None:
    """Default to one replica, and complete the spec."""
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    complete_spec(spec)


def complete_spec(spec: Object) -> None:
    """Target 80 % CPU utilization without other metrics; complete the behavior."""
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        _default_behavior(spec["behavior"])


def _default_behavior(behavior: Object) -> None:
    """Complete the rules for both directions if there are rules for one."""
    rise = behavior.setdefault("scaleUp", {})
    rise.setdefault("stabilizationWindowSeconds", 0)
    rise.setdefault("selectPolicy", "Max")
    rise.setdefault("policies", [_policy("Pods", 4), _policy("Percent", 100)])
    # How long to wait before going down is for the controller to say.
    fall = behavior.setdefault("scaleDown", {})
    fall.setdefault("selectPolicy", "Max")
    fall.setdefault("policies", [_policy("Percent", 100)])


def _policy(kind: str, value: int) -> Object:
    return {"type": kind, "value": value, "periodSeconds": 15}
