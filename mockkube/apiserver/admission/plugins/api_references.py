"""Find out whether a pod refers to other API objects, which mirror pods may not."""

# upstream 1.36: pkg/api/pod/util.go, HasAPIObjectReference
from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.secret_references import visit_pod_secret_names

_VOLUME_SOURCES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED_SOURCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def find_api_reference(spec: ReadOnlyObject) -> str:
    """Return the first kind of object that a pod refers to; empty if it refers to none."""
    return next(_references(spec), "")


def _references(spec: ReadOnlyObject) -> Iterator[str]:
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    if any(True for _ in visit_pod_secret_names(spec)):
        yield "secrets"
    if any(_config_map_references(spec)):
        yield "configmaps"
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes") or ():
        yield from (what for source, what in _VOLUME_SOURCES.items() if source in volume)
        for projection in (volume.get("projected") or {}).get("sources") or ():
            yield from (what for source, what in _PROJECTED_SOURCES.items() if source in projection)


def _config_map_references(spec: ReadOnlyObject) -> Iterator[bool]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            for variable in container.get("env") or ():
                yield "configMapKeyRef" in (variable.get("valueFrom") or {})
            for source in container.get("envFrom") or ():
                yield "configMapRef" in source
    for volume in spec.get("volumes") or ():
        yield "configMap" in volume
        yield any("configMap" in one for one in (volume.get("projected") or {}).get("sources") or ())
