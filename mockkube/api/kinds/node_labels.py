"""Node labels that are deprecated, and what to use instead."""

from collections.abc import Mapping
from typing import Final

from mockkube.api.types import ReadOnlyObject

# upstream 1.36: pkg/api/node/util.go
_DEPRECATED: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def deprecation(label: str) -> str | None:
    """Return what to say of a deprecated label; None: it is not."""
    return _DEPRECATED.get(label)


def selector_warnings(selector: ReadOnlyObject | None, at: str) -> list[str]:
    """Warn of deprecated labels in a label selector that selects nodes."""
    if not selector:
        return []
    expressions = enumerate(selector.get("matchExpressions") or [])
    warnings = [
        f"{at}.matchExpressions[{index}].key: {each.get('key')} is {message}"
        for index, each in expressions
        if (message := deprecation(each.get("key", "")))
    ]
    found = ((label, deprecation(label)) for label in selector.get("matchLabels") or {})
    return warnings + [f"{at}.matchLabels.{label}: {message}" for label, message in found if message]
