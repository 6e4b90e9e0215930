"""Defaults of network policies, ingress classes and endpoint slices."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


def default_network_policy(policy: Object, caps: Capabilities) -> None:
    """Default to policy type Ingress, and Egress if there are egress rules; ports to TCP."""
    # upstream 1.36: pkg/apis/networking/v1/defaults.go
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")


def default_ingress_class(ingress_class: Object, caps: Capabilities) -> None:
    """Default the scope of parameters to Cluster."""
    parameters = ingress_class.get("spec", {}).get("parameters")
    if parameters and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def default_endpoint_slice(endpoint_slice: Object, caps: Capabilities) -> None:
    """Default port names to the empty name, protocols to TCP."""
    # upstream 1.36: pkg/apis/discovery/v1/defaults.go
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
