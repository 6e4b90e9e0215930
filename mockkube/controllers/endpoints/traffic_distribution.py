"""Topology hints of EndpointSlices: zones and nodes that should use an endpoint.

upstream 1.36: staging/src/k8s.io/endpointslice/trafficdist/trafficdist.go
"""

from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.endpoints.slice_plan import SlicePlan
from mockkube.features.capabilities import Capabilities

SAME_GATE: Final = "PreferSameTrafficDistribution"
_CLOSE: Final = "PreferClose"
_SAME: Final = ("PreferSameZone", "PreferSameNode")
_MODES: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


def effective_traffic_distribution(service: ReadOnlyObject, capabilities: Capabilities) -> str:
    """Return the traffic distribution of a service if this version knows it; empty otherwise."""
    annotations = service["metadata"].get("annotations", {})
    mode = next((annotations[name] for name in _MODES if name in annotations), "")
    wanted: str = service["spec"].get("trafficDistribution") or ""
    known = wanted == _CLOSE or (wanted in _SAME and capabilities.enabled(SAME_GATE))
    # The older annotation takes precedence, as upstream; its hints by proportion are not implemented.
    return wanted if known and mode not in ("Auto", "auto") else ""


def reconcile_hints(plan: SlicePlan, unchanged: Iterable[ReadOnlyObject], distribution: str) -> None:
    """Set the hints of all endpoints; slices whose hints change are added to the updates."""
    nodes = distribution == "PreferSameNode"
    for old in unchanged:
        hinted = [_with_hints(one, distribution, nodes=nodes) for one in old.get("endpoints") or ()]
        if hinted != list(old.get("endpoints") or ()):
            plan.update.append({**old, "endpoints": hinted})
    for made in (*plan.create, *plan.update):
        made["endpoints"] = [_with_hints(one, distribution, nodes=nodes) for one in made["endpoints"]]


def _with_hints(endpoint: ReadOnlyObject, distribution: str, *, nodes: bool) -> Object:
    """Return an endpoint with the hints of a distribution."""
    bare: Object = {name: value for name, value in endpoint.items() if name != "hints"}
    if not distribution:
        return bare
    # Endpoints that are not ready keep the hints that they have.
    if not endpoint.get("conditions", {}).get("ready"):
        return dict(endpoint)
    hints: Object = {}
    if endpoint.get("zone") is not None:
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if nodes and endpoint.get("nodeName") is not None:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return {**bare, "hints": hints} if hints else bare
