"""Relations between objects and nodes, mostly that a pod on the node uses the object."""

# upstream 1.36: plugin/pkg/auth/authorizer/node/graph.go
# differs: upstream maintains a graph; here the pods of the node are searched on each request.
from collections.abc import Iterator

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.secret_references import visit_pod_secret_names
from mockkube.apiserver.registry.registry import Registry
from mockkube.matching.pod_claims import volume_claims

_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
# Resources with a nodeName of their own, and their groups.
_GROUPS_WITH_NODE_NAME = {
    "volumeattachments": "storage.k8s.io",
    "resourceslices": "resource.k8s.io",
    "podcertificaterequests": "certificates.k8s.io",
}


class NodeRelations:
    """Relations between the objects of a registry and nodes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def is_related(self, node: str, plural: str, namespace: str, name: str) -> bool:
        """Return whether the object is related to the node."""
        match plural:
            case "pods":
                return self._load_spec("", plural, namespace, name).get("nodeName") == node
            case "persistentvolumes":
                return self._uses_volume(node, self._load_spec("", plural, "", name))
            case "secrets" if any(self._uses_volume(node, spec) for spec in self._volumes_with_secret(namespace, name)):
                return True
            case "volumeattachments" | "resourceslices" | "podcertificaterequests":
                return self._load_spec(_GROUPS_WITH_NODE_NAME[plural], plural, namespace, name).get("nodeName") == node
        return any(name in _used_names(pod, plural) for pod in self._pods(node, namespace))

    def _load_spec(self, group: str, plural: str, namespace: str, name: str) -> ReadOnlyObject:
        resource = self._registry.find_storage_resource(group, plural)
        cached = resource.get_cached(namespace, name) if resource is not None else None
        return {} if cached is None else cached.load().get("spec") or {}

    def _pods(self, node: str, namespace: str) -> Iterator[ReadOnlyObject]:
        """Yield the pods on the node, except for mirror pods."""
        pods = self._registry.find_storage_resource("", "pods")
        assert pods is not None, "every server has pods"
        for cached in pods.collection.range(pods.prefix(namespace)):
            if cached.fields.get("spec.nodeName") == node:
                pod = cached.load()
                # The kubelet creates mirror pods, so they must not give it access to anything.
                if _MIRROR_ANNOTATION not in (pod["metadata"].get("annotations") or {}):
                    yield pod

    def _uses_volume(self, node: str, volume: ReadOnlyObject) -> bool:
        claim = volume.get("claimRef") or {}
        name = claim.get("name", "")
        return any(
            name in _used_names(pod, "persistentvolumeclaims") for pod in self._pods(node, claim.get("namespace", ""))
        )

    def _volumes_with_secret(self, namespace: str, secret: str) -> Iterator[ReadOnlyObject]:
        """Yield the bound volumes that need a secret to be mounted."""
        volumes = self._registry.find_storage_resource("", "persistentvolumes")
        assert volumes is not None, "every server has persistent volumes"
        for cached in tuple(volumes.collection.objects.values()):
            spec = cached.load()["spec"]
            if spec.get("claimRef") and (namespace, secret) in _volume_secrets(spec):
                yield spec


def _volume_secrets(spec: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    # upstream 1.36: pkg/api/v1/persistentvolume/util.go
    for source in spec.values():
        if not isinstance(source, dict):
            continue
        for field, reference in source.items():
            if field.endswith("SecretRef") or field == "secretRef":
                secret_namespace = reference.get("namespace") or spec["claimRef"].get("namespace", "")
                yield secret_namespace, reference.get("name", "")
        if "secretName" in source:
            secret_namespace = source.get("secretNamespace") or spec["claimRef"].get("namespace", "")
            yield secret_namespace, source["secretName"]


def _used_names(pod: ReadOnlyObject, plural: str) -> set[str]:
    """Return the names of the objects of a resource that a pod uses in its namespace."""
    match plural:
        case "serviceaccounts":
            return {pod["spec"].get("serviceAccountName", "")} - {""}
        case "secrets":
            return set(visit_pod_secret_names(pod["spec"]))
        case "configmaps":
            return set(_config_map_names(pod["spec"]))
        case "persistentvolumeclaims":
            return {claim.name for claim in volume_claims(pod)}
        case "resourceclaims":
            return set(_resource_claim_names(pod))
    return set()


def _config_map_names(spec: ReadOnlyObject) -> Iterator[str]:
    # upstream 1.36: pkg/api/v1/pod/util.go, VisitPodConfigmapNames
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            references = [source.get("configMapRef") for source in container.get("envFrom") or ()]
            values = (variable.get("valueFrom") or {} for variable in container.get("env") or ())
            references += [value.get("configMapKeyRef") for value in values]
            yield from (reference["name"] for reference in references if reference and reference.get("name"))
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        for source in (volume.get("configMap"), *(one.get("configMap") for one in sources)):
            if source and source.get("name"):
                yield source["name"]


def _resource_claim_names(pod: ReadOnlyObject) -> Iterator[str]:
    status = pod.get("status") or {}
    for claim in pod["spec"].get("resourceClaims") or ():
        if claim.get("resourceClaimName"):
            yield claim["resourceClaimName"]
    for claim in status.get("resourceClaimStatuses") or ():
        if claim.get("resourceClaimName"):
            yield claim["resourceClaimName"]
    if extended := (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"):
        yield extended
