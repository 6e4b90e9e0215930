"""NodeRestriction: restrict kubelets to their own node and the pods bound to it."""

# upstream 1.36: plugin/pkg/admission/noderestriction/admission.go
from collections.abc import Callable, Mapping
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.plugins.api_references import find_api_reference
from mockkube.apiserver.authorization.node import NODE_USER_PREFIX, node_name
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
_LEASE_NAMESPACE: Final = "kube-node-lease"
_KUBELET_SIGNERS: Final = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_RESTRICTED_DOMAIN: Final = "node-restriction.kubernetes.io"
# Labels of the domains kubernetes.io and k8s.io that a kubelet may set on its node.
_KUBELET_LABELS: Final = frozenset(
    (
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "node.kubernetes.io/instance-type"),
        *("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"),
        *("beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch"),
    )
)
_KUBELET_LABEL_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_REPORTED_CLAIM_STATUS: Final = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


class NodeRestriction(AdmissionPlugin):
    """Rejects writes of kubelets that RBAC allows but that would affect other nodes."""

    name = "NodeRestriction"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def admit(self, request: AdmissionAttributes) -> None:
        """Check a request of a node."""
        node = node_name(request.scope.user)
        if node is None:
            return
        # The user is in the group system:nodes, but its name is no node name.
        if not node:
            raise new_forbidden(request, f"could not determine node from user {quote(request.scope.user.name)}")
        resource = request.resource.storage_resource
        judge = _CHECKS.get((resource.group, resource.plural))
        if judge is not None:
            judge(node, request)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return False: updates are judged by the user and the objects alone."""
        return False


def _check_pod(node: str, request: AdmissionAttributes) -> None:
    node_text = f"node {quote(node)}"
    match request.scope.subresource, request.operation:
        case "", Operation.CREATE:
            _check_mirror_pod(node, request)
        case "" | "eviction", Operation.DELETE:
            if _node_name(request.old) != node:
                raise new_forbidden(request, f"{node_text} can only delete pods with spec.nodeName set to itself")
        case "", operation:
            why = f'unexpected operation "{operation}", {node_text} can only create and delete mirror pods'
            raise new_forbidden(request, why)
        case "status", _:
            _check_pod_status(node, request)
        case subresource, _:
            why = f"unexpected pod subresource {quote(subresource)}, only 'status' and 'eviction' are allowed"
            raise new_forbidden(request, why)


def _node_name(pod: ReadOnlyObject | None) -> str:
    assert pod is not None, "a change or deletion is of an object"
    name: str = (pod.get("spec") or {}).get("nodeName", "")
    return name


def _check_mirror_pod(node: str, request: AdmissionAttributes) -> None:
    node_text, pod = f"node {quote(node)}", request.new
    if _MIRROR_ANNOTATION not in request.annotations:
        why = f"pod does not have {quote(_MIRROR_ANNOTATION)} annotation, {node_text} can only create mirror pods"
        raise new_forbidden(request, why)
    if _node_name(pod) != node:
        raise new_forbidden(request, f"{node_text} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise new_forbidden(request, f"{node_text} can only create pods with a single owner reference set to itself")
    if not owners:
        raise new_forbidden(request, f"{node_text} can only create pods with an owner reference set to itself")
    _check_owner(node, owners[0], request)
    # A mirror pod that refers to a secret would give the kubelet access to it by the node authorizer.
    if what := find_api_reference(pod["spec"]):
        raise new_forbidden(request, f"{node_text} can not create pods that reference {what}")


def _check_owner(node: str, owner: ReadOnlyObject, request: AdmissionAttributes) -> None:
    node_text = f"node {quote(node)}"
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise new_forbidden(request, f"{node_text} can only create pods with an owner reference set to itself")
    if not owner.get("controller"):
        raise new_forbidden(
            request, f"{node_text} can only create pods with a controller owner reference set to itself"
        )
    if owner.get("blockOwnerDeletion"):
        raise new_forbidden(request, f"{node_text} must not set blockOwnerDeletion on an owner reference")
    cached = request.find_resource("", "nodes").get_cached("", node)
    if cached is None:
        raise NotFound.for_object("", "node", node)
    uid = cached.load()["metadata"]["uid"]
    if owner.get("uid") != uid:
        raise new_forbidden(request, f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")


def _check_pod_status(node: str, request: AdmissionAttributes) -> None:
    node_text, new, old = f"node {quote(node)}", request.new, request.old
    assert old is not None, "a status belongs to an object that is there"
    if _node_name(old) != node:
        raise new_forbidden(
            request, f"{node_text} can only update pod status for pods with spec.nodeName set to itself"
        )
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise new_forbidden(request, f"{node_text} cannot update labels through pod status")
    status, before = new.get("status") or {}, old.get("status") or {}
    if (status.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        raise new_forbidden(request, f"{node_text} cannot update resource claim statues")
    if status.get("extendedResourceClaimStatus") != before.get("extendedResourceClaimStatus"):
        raise new_forbidden(request, f"{node_text} cannot update extended resource claim status")


def _check_node(node: str, request: AdmissionAttributes) -> None:
    node_text = f"node {quote(node)}"
    name = request.scope.name or request.new["metadata"].get("name", "")
    if name != node:
        raise new_forbidden(request, f"{node_text} is not allowed to modify node {quote(name)}")
    if request.operation is Operation.DELETE:
        return
    new, old = request.new, request.old
    source = new["spec"].get("configSource")
    if old is None:
        if source is not None:
            raise new_forbidden(request, f"{node_text} is not allowed to create pods with a non-nil configSource")
    else:
        if source is not None and source != old["spec"].get("configSource"):
            raise new_forbidden(
                request, f"{node_text} is not allowed to update configSource to a new non-nil configSource"
            )
        if (new["spec"].get("taints") or []) != (old["spec"].get("taints") or []):
            raise new_forbidden(request, f"{node_text} is not allowed to modify taints")
        if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
            raise new_forbidden(request, f"{node_text} is not allowed to modify ownerReferences")
    if forbidden := ", ".join(_forbidden_labels(_labels(new), _labels(old) if old else {})):
        what = "is not allowed to modify labels" if old else f"{node_text} is not allowed to set the following labels"
        raise new_forbidden(request, f"{what}: {forbidden}")


def _labels(obj: ReadOnlyObject) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Return the labels that differ and that a node may not set."""
    changed = [key for key in sorted({*new, *old}) if new.get(key) != old.get(key)]
    return [key for key in changed if not _may_set(key)]


def _may_set(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    # Reserved for administrators, who isolate nodes by labels that a compromised kubelet cannot set.
    if _is_in_domain(domain, _RESTRICTED_DOMAIN):
        return False
    if not _is_in_domain(domain, "kubernetes.io") and not _is_in_domain(domain, "k8s.io"):
        return True
    return key in _KUBELET_LABELS or any(_is_in_domain(domain, own) for own in _KUBELET_LABEL_DOMAINS)


def _is_in_domain(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _check_claim(node: str, request: AdmissionAttributes) -> None:
    if request.scope.subresource != "status":
        raise new_forbidden(request, "may only update PVC status")
    assert request.old is not None, "a status belongs to an object that is there"
    if _without_reported(request.new) != _without_reported(request.old):
        why = f"node {quote(node)} is not allowed to update fields other than status.quantity and status.conditions"
        raise new_forbidden(request, why)


def _without_reported(claim: ReadOnlyObject) -> Object:
    """Return the claim without the fields that a node reports."""
    metadata = {
        key: value for key, value in claim["metadata"].items() if key not in ("resourceVersion", "managedFields")
    }
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in _REPORTED_CLAIM_STATUS}
    return {**claim, "metadata": metadata, "status": status}


def _check_lease(node: str, request: AdmissionAttributes) -> None:
    if request.scope.namespace != _LEASE_NAMESPACE:
        raise new_forbidden(request, f"can only access leases in the {quote(_LEASE_NAMESPACE)} system namespace")
    _check_name(node, request, "can only access node lease with the same name as the requesting node")


def _check_csi_node(node: str, request: AdmissionAttributes) -> None:
    _check_name(node, request, "can only access CSINode with the same name as the requesting node")


def _check_name(node: str, request: AdmissionAttributes, why: str) -> None:
    created = request.operation is Operation.CREATE
    name = request.new["metadata"].get("name", "") if created else request.scope.name
    if name != node:
        raise new_forbidden(request, why)


def _check_resource_slice(node: str, request: AdmissionAttributes) -> None:
    # The node name of a slice is immutable and was checked at its creation.
    if request.operation is Operation.UPDATE:
        return
    created = request.operation is Operation.CREATE
    if _node_name(request.new if created else request.old) != node:
        verb = "create" if created else "delete"
        raise new_forbidden(request, f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _check_token_request(node: str, request: AdmissionAttributes) -> None:
    """Require that the token is bound to a pod of the node."""
    if request.operation is not Operation.CREATE or request.scope.subresource != "token":
        return
    reference = request.new["spec"].get("boundObjectRef") or {}
    name, uid = reference.get("name", ""), reference.get("uid", "")
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not name:
        raise new_forbidden(request, "node requested token not bound to a pod")
    if not uid:
        raise new_forbidden(request, "node requested token with a pod binding without a uid")
    cached = request.find_resource("", "pods").get_cached(request.scope.namespace, name)
    if cached is None:
        raise NotFound.for_object("", "pod", name)
    pod = cached.load()
    if uid != pod["metadata"]["uid"]:
        differ = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise new_forbidden(request, differ + "The object might have been deleted and then recreated")
    if _node_name(pod) != node:
        raise new_forbidden(request, "node requested token bound to a pod scheduled on a different node")


def _check_signing_request(node: str, request: AdmissionAttributes) -> None:
    if request.resource.dependencies.capabilities.enabled("AllowInsecureKubeletCertificateSigningRequests"):
        return
    if request.operation is not Operation.CREATE or request.new["spec"].get("signerName") not in _KUBELET_SIGNERS:
        return
    # Imported late, because it loads the cryptography package; the kind's strategy has loaded it by now.
    from mockkube.api.kinds.certificates.certificate_signing_request import parse_request, subject_common_name

    try:
        name = subject_common_name(parse_request(request.new["spec"].get("request", "")))
    except ValueError as error:
        raise new_forbidden(request, f"unable to parse csr: {error}") from error
    if name != f"{NODE_USER_PREFIX}{node}":
        raise new_forbidden(request, f"can only create a node CSR with CN={NODE_USER_PREFIX}{node}")


_CHECKS: Final[Mapping[tuple[str, str], Callable[[str, AdmissionAttributes], None]]] = {
    ("", "pods"): _check_pod,
    ("", "nodes"): _check_node,
    ("", "persistentvolumeclaims"): _check_claim,
    ("", "serviceaccounts"): _check_token_request,
    ("coordination.k8s.io", "leases"): _check_lease,
    ("storage.k8s.io", "csinodes"): _check_csi_node,
    ("resource.k8s.io", "resourceslices"): _check_resource_slice,
    ("certificates.k8s.io", "certificatesigningrequests"): _check_signing_request,
}
