"""Defaults of HorizontalPodAutoscaler."""

from mockkube.api.json_objects import Object
from mockkube.features.capabilities import Capabilities


# upstream 1.36: pkg/apis/autoscaling/v1/defaults.go, pkg/apis/autoscaling/v2/defaults.go
def default_autoscaler_v1(autoscaler: Object, caps: Capabilities) -> None:
    """Default a v1 autoscaler to one replica; metrics are defaulted after conversion to v2."""
    autoscaler.setdefault("spec", {}).setdefault("minReplicas", 1)


def default_autoscaler(autoscaler: Object, caps: Capabilities) -> None:
    """Default to one replica, CPU utilization and complete behavior."""
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    complete_spec(spec)


def complete_spec(spec: Object) -> None:
    """Default to 80 % CPU utilization if there are no metrics, and complete the behavior."""
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        _default_behavior(spec["behavior"])


def _default_behavior(behavior: Object) -> None:
    """Default both directions if the user configured one."""
    rise = behavior.setdefault("scaleUp", {})
    rise.setdefault("stabilizationWindowSeconds", 0)
    rise.setdefault("selectPolicy", "Max")
    rise.setdefault("policies", [_policy("Pods", 4), _policy("Percent", 100)])
    # The stabilization window down stays unset: it defaults to a flag of the controller manager.
    fall = behavior.setdefault("scaleDown", {})
    fall.setdefault("selectPolicy", "Max")
    fall.setdefault("policies", [_policy("Percent", 100)])


def _policy(kind: str, value: int) -> Object:
    return {"type": kind, "value": value, "periodSeconds": 15}
