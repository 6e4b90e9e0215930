"""Node authorizer: kubelets may access objects that are related to their node."""

# upstream 1.36: plugin/pkg/auth/authorizer/node/node_authorizer.go
from typing import Final

from mockkube.apiserver.authorization.policy import node_rules
from mockkube.apiserver.authorization.relations import Relations
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import Attributes, Decision
from mockkube.apiserver.registry.registry import Registry

_ALLOWED: Final = Decision(allowed=True)
_SILENT: Final = Decision(allowed=False)
NODES: Final = "system:nodes"
PREFIX: Final = "system:node:"
_LEASES_IN: Final = "kube-node-lease"
_OWN: Final = frozenset({"get", "create", "update", "patch", "delete"})


def node_of(user: User) -> str | None:
    """Return the node name of a user; empty if the user names no node, None if it is no node."""
    if not user.name.startswith(PREFIX) or NODES not in user.groups:
        return None
    return user.name.removeprefix(PREFIX)


class NodeAuthorizer:
    """Authorizer for users that are nodes; it has no opinion about others."""

    def __init__(self, registry: Registry) -> None:
        self._caps = registry.services.caps
        self._rules = node_rules(self._caps)
        self._relations = Relations(registry)

    def decide(self, asked: Attributes) -> Decision:
        """Authorize a request."""
        node = node_of(asked.user)
        if node is None:
            return _SILENT
        if not node:
            return _refused(f'unknown node for user "{asked.user.name}"')
        special = None if asked.path is not None else self._special(node, asked)
        if special is not None:
            return special
        return _ALLOWED if any(rule.allows(asked) for rule in self._rules) else _SILENT

    def _special(self, node: str, asked: Attributes) -> Decision | None:
        """Return the decision about resources for which rules are not enough; None for others."""
        match asked.group, asked.resource:
            case "", "secrets" | "configmaps":
                return self._read(node, asked)
            case "", "persistentvolumeclaims" if asked.subresource == "status":
                return self._report(node, asked)
            case ("", "persistentvolumeclaims" | "persistentvolumes") | ("resource.k8s.io", "resourceclaims"):
                return self._get(node, asked)
            case "storage.k8s.io", "volumeattachments":
                return self._get(node, asked)
            case "", "serviceaccounts":
                return self._account(node, asked)
            case "coordination.k8s.io", "leases":
                return _lease(node, asked)
            case "storage.k8s.io", "csinodes":
                return _csi_node(node, asked)
            case "resource.k8s.io", "resourceslices":
                return self._slice(node, asked)
            case "certificates.k8s.io", "podcertificaterequests":
                return self._certificate_request(node, asked)
            case "", "nodes":
                return _own_node(node, asked)
            case "", "pods":
                return self._pod(node, asked)
        return None

    def _related(self, node: str, asked: Attributes) -> Decision:
        if not asked.name:
            return _refused("No Object name found")
        if self._relations.related(node, asked.resource, asked.namespace, asked.name):
            return _ALLOWED
        return _refused(f"no relationship found between node '{node}' and this object")

    def _get(self, node: str, asked: Attributes) -> Decision:
        if asked.verb != "get":
            return _refused("can only get individual resources of this type")
        return _refused("cannot get subresource") if asked.subresource else self._related(node, asked)

    def _read(self, node: str, asked: Attributes) -> Decision:
        # list and watch of a single name are the kubelet's way to follow a secret or ConfigMap.
        if asked.verb not in ("get", "list", "watch"):
            return _refused("can only read resources of this type")
        if asked.subresource:
            return _refused("cannot read subresource")
        if not asked.namespace:
            return _refused("can only read namespaced object of this type")
        return self._related(node, asked)

    def _report(self, node: str, asked: Attributes) -> Decision:
        if asked.verb not in ("update", "patch"):
            return _refused("can only get/update/patch this type")
        return self._related(node, asked)

    def _account(self, node: str, asked: Attributes) -> Decision:
        if asked.verb == "get" and not asked.subresource:
            if any(
                map(self._caps.enabled, ("KubeletServiceAccountTokenForCredentialProviders", "PodCertificateRequest"))
            ):
                return self._read(node, asked)
            return _refused("not allowed to get service accounts")
        if asked.verb != "create" or not asked.name:
            return _refused("can only create tokens for individual service accounts")
        if asked.subresource != "token":
            return _refused("can only create token subresource of serviceaccount")
        return self._related(node, asked)

    def _slice(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource:
            return _refused("cannot authorize ResourceSlice subresources")
        match asked.verb:
            case "create":
                return _ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._related(node, asked)
            case "watch" | "list" | "deletecollection":
                why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
                return _ALLOWED if _limited(asked, "spec.nodeName", node) else _refused(why)
        verbs = "get, watch, list, create, update, patch, delete, deletecollection"
        return _refused(f"only the following verbs are allowed for a ResourceSlice: {verbs}")

    def _certificate_request(self, node: str, asked: Attributes) -> Decision:
        if not self._caps.enabled("PodCertificateRequest"):
            return _SILENT
        if asked.subresource:
            return _refused("nodes may not access the status subresource of PodCertificateRequests")
        match asked.verb:
            case "create":
                return _ALLOWED
            case "get":
                return self._related(node, asked)
            case "list" | "watch":
                why = "can only list/watch podcertificaterequests with nodeName field selector"
                return _ALLOWED if _limited(asked, "spec.nodeName", node) else _refused(why)
        return _refused(f"nodes may not {asked.verb} podcertificaterequests")

    def _pod(self, node: str, asked: Attributes) -> Decision:
        match asked.subresource, asked.verb:
            case "", "get":
                return self._get(node, asked)
            case "", "list" | "watch":
                if _limited(asked, "spec.nodeName", node):
                    return _ALLOWED
                why = "can only list/watch pods with spec.nodeName field selector"
                return self._related(node, asked) if asked.name else _refused(why)
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return _ALLOWED
        return _SILENT


def _own_node(node: str, asked: Attributes) -> Decision:
    match asked.subresource, asked.verb:
        # NodeRestriction checks that it is the kubelet's own node; a create has no name here.
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return _ALLOWED
        case "", "get" | "list" | "watch":
            if asked.name == node:
                return _ALLOWED
            what = f"cannot read '{asked.name}'" if asked.name else "cannot read all nodes"
            return _refused(f"node '{node}' {what}, only its own Node object")
    return _SILENT


def _lease(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWN:
        return _refused("can only get, create, update, patch, or delete a node lease")
    if asked.namespace != _LEASES_IN:
        return _refused(f'can only access leases in the "{_LEASES_IN}" system namespace')
    if asked.verb != "create" and asked.name != node:
        return _refused("can only access node lease with the same name as the requesting node")
    return _ALLOWED


def _csi_node(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWN:
        return _refused("can only get, create, update, patch, or delete a CSINode")
    if asked.subresource:
        return _refused("cannot authorize CSINode subresources")
    if asked.verb != "create" and asked.name != node:
        return _refused("can only access CSINode with the same name as the requesting node")
    return _ALLOWED


def _limited(asked: Attributes, field: str, value: str) -> bool:
    return any(one.field == field and one.value == value and not one.negated for one in asked.fields)


def _refused(why: str) -> Decision:
    return Decision(allowed=False, reason=why)
