"""Objects that every namespace has: service account `default` and ConfigMap `kube-root-ca.crt`.

Two writers share this: controllers of kube-controller-manager, as upstream, and the API server itself, because pods
cannot be created before these objects exist, whatever controllers run.
upstream 1.36: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher
"""

from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject

SERVICE_ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_TEXT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def has_certificate(config_map: ReadOnlyObject, certificate: str) -> bool:
    """Return whether the ConfigMap has the certificate, nothing else, and a description."""
    described = (config_map["metadata"].get("annotations") or {}).get(_DESCRIPTION)
    return config_map.get("data", {}) == {"ca.crt": certificate} and bool(described)


def with_certificate(config_map: ReadOnlyObject, certificate: str) -> Object:
    """Return the ConfigMap with the certificate as its only content, and with the description."""
    metadata = config_map["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _DESCRIPTION: _TEXT}
    return {**config_map, "metadata": {**metadata, "annotations": annotations}, "data": {"ca.crt": certificate}}
