"""Defaults of Services; addresses and node ports are allocated elsewhere."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

_AFFINITY_SECONDS = 3 * 60 * 60


def default_service(service: Object, caps: Capabilities) -> None:
    """Fill in type, session affinity, ports and traffic policies."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_Service
    spec = service.setdefault("spec", {})
    _default_affinity(spec)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("LoadBalancer", "NodePort", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service.get("status", {}).get("loadBalancer", {}).get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _default_affinity(spec: Object) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
