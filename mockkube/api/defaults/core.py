"""Defaults of core kinds other than pods, services and volumes."""

from base64 import b64encode

from mockkube.api.defaults.pod_specs import default_template
from mockkube.api.defaults.resource_lists import round_up
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

# upstream 1.36: pkg/apis/core/v1/defaults.go


def default_namespace(namespace: Object, caps: Capabilities) -> None:
    """Label the namespace with its name, and set phase Active."""
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def default_node(node: Object, caps: Capabilities) -> None:
    """Default allocatable to capacity."""
    status = node.setdefault("status", {})
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))
    round_up(status.get("capacity"))
    round_up(status.get("allocatable"))
    _match_ranges(node.setdefault("spec", {}))


def _match_ranges(spec: Object) -> None:
    """Align `podCIDR` and `podCIDRs`; if they differ, `podCIDR` wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one and many[0]:
        spec["podCIDR"] = many[0]


def default_secret(secret: Object, caps: Capabilities) -> None:
    """Default to type Opaque, and move `stringData` to `data`."""
    secret.setdefault("type", "Opaque")
    # upstream 1.36: pkg/apis/core/v1/conversion.go
    for name, text in secret.pop("stringData", {}).items():
        secret.setdefault("data", {})[name] = b64encode(text.encode()).decode()


def default_endpoints(endpoints: Object, caps: Capabilities) -> None:
    """Default the protocol of ports to TCP."""
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_limit_range(limit_range: Object, caps: Capabilities) -> None:
    """Derive container defaults from their bounds."""
    for item in limit_range.get("spec", {}).get("limits") or ():
        if item.get("type") == "Container":
            _default_container_limits(item)
        for amounts in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up(item.get(amounts))


def _default_container_limits(item: Object) -> None:
    limits = item.get("max", {}) | item.get("default", {})
    requests = item.get("min", {}) | limits | item.get("defaultRequest", {})
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def default_resource_quota(quota: Object, caps: Capabilities) -> None:
    """Round the quantities."""
    round_up(quota.get("spec", {}).get("hard"))
    status = quota.get("status", {})
    round_up(status.get("hard"))
    round_up(status.get("used"))


def default_pod_template(template: Object, caps: Capabilities) -> None:
    """Fill in the template."""
    default_template(template.setdefault("template", {}), caps)


def default_replication_controller(controller: Object, caps: Capabilities) -> None:
    """Default to one replica; take selector and labels from the template."""
    spec = controller.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    labels = template.get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))
    default_template(template, caps)
