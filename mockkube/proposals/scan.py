"""Scan of objects: what breaks at which component when it loses a gate or goes back to an older version."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mockkube.api.decoding.codec import DecodingError
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.proposals.component_view import ComponentView
from mockkube.proposals.placement_impact import PlacementImpact
from mockkube.proposals.server_impact import ScanFinding, find_server_impact, unique_findings

COMPONENTS: Final = (API_SERVER, SCHEDULER, CONTROLLER_MANAGER, KUBELET)
# Group and version, resource and kind of the objects that are scanned.
RESOURCES: Final = (
    ("v1", "nodes", "Node"),
    ("v1", "pods", "Pod"),
    ("v1", "podtemplates", "PodTemplate"),
    ("v1", "replicationcontrollers", "ReplicationController"),
    ("apps/v1", "deployments", "Deployment"),
    ("apps/v1", "replicasets", "ReplicaSet"),
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("apps/v1", "daemonsets", "DaemonSet"),
    ("batch/v1", "jobs", "Job"),
    ("batch/v1", "cronjobs", "CronJob"),
    ("v1", "persistentvolumes", "PersistentVolume"),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("resource.k8s.io/v1", "resourceclaims", "ResourceClaim"),
    ("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
)


class Unscannable(ValueError):
    """Object that cannot be decoded; the text names it."""


def scan_objects(
    objects: Sequence[Mapping[str, Any]], changes: Mapping[str, tuple[Capabilities, Capabilities]], now: datetime
) -> list[ScanFinding]:
    """Return what breaks, object by object, for components that change; raise Unscannable for a bad object."""
    nodes = {
        obj["metadata"]["name"]: (obj.get("spec") or {}).get("taints") or []
        for obj in objects
        if obj["kind"] == "Node" and (obj.get("metadata") or {}).get("name")
    }
    views = {name: (ComponentView(before, now), ComponentView(after, now)) for name, (before, after) in changes.items()}
    return unique_findings(found for obj in objects for found in _scan_object(obj, views, nodes))


def _scan_object(
    obj: Mapping[str, Any], views: Mapping[str, tuple[ComponentView, ComponentView]], nodes: Mapping[str, Any]
) -> Iterator[ScanFinding]:
    try:
        for component, (before, after) in views.items():
            if component == API_SERVER:
                yield from find_server_impact(obj, before, after)
            else:
                yield from PlacementImpact(component, before, after, nodes).find_impact(obj)
    except DecodingError:
        name = (obj.get("metadata") or {}).get("name", "")
        raise Unscannable(f"{obj['kind']} {name!r} cannot be read: a field has the wrong type") from None
