"""Node authorizer: kubelets may access objects that are related to their node."""

# upstream 1.36: plugin/pkg/auth/authorizer/node/node_authorizer.go
from typing import Final

from mockkube.apiserver.authorization.bootstrap_policy import node_rules
from mockkube.apiserver.authorization.node_relations import NodeRelations
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision
from mockkube.apiserver.registry.registry import Registry

_ALLOWED: Final = Decision(allowed=True)
_NO_OPINION: Final = Decision(allowed=False)
NODES_GROUP: Final = "system:nodes"
NODE_USER_PREFIX: Final = "system:node:"
_LEASE_NAMESPACE: Final = "kube-node-lease"
_WRITE_AND_GET: Final = frozenset({"get", "create", "update", "patch", "delete"})


def node_name(user: User) -> str | None:
    """Return the node name of a user; empty if the user names no node, None if it is no node."""
    if not user.name.startswith(NODE_USER_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name.removeprefix(NODE_USER_PREFIX)


class NodeAuthorizer:
    """Authorizer for users that are nodes; it has no opinion about others."""

    def __init__(self, registry: Registry) -> None:
        self._caps = registry.dependencies.capabilities
        self._rules = node_rules(self._caps)
        self._relations = NodeRelations(registry)

    def authorize(self, attributes: AuthorizationAttributes) -> Decision:
        """Authorize a request."""
        node = node_name(attributes.user)
        if node is None:
            return _NO_OPINION
        if not node:
            return _deny(f'unknown node for user "{attributes.user.name}"')
        special = None if attributes.path is not None else self._authorize_by_relation(node, attributes)
        if special is not None:
            return special
        return _ALLOWED if any(rule.allows(attributes) for rule in self._rules) else _NO_OPINION

    def _authorize_by_relation(self, node: str, attributes: AuthorizationAttributes) -> Decision | None:
        """Return the decision about resources for which rules are not enough; None for others."""
        match attributes.group, attributes.resource:
            case "", "secrets" | "configmaps":
                return self._authorize_read(node, attributes)
            case "", "persistentvolumeclaims" if attributes.subresource == "status":
                return self._authorize_status_update(node, attributes)
            case ("", "persistentvolumeclaims" | "persistentvolumes") | ("resource.k8s.io", "resourceclaims"):
                return self._authorize_get(node, attributes)
            case "storage.k8s.io", "volumeattachments":
                return self._authorize_get(node, attributes)
            case "", "serviceaccounts":
                return self._authorize_service_account(node, attributes)
            case "coordination.k8s.io", "leases":
                return _authorize_lease(node, attributes)
            case "storage.k8s.io", "csinodes":
                return _authorize_csi_node(node, attributes)
            case "resource.k8s.io", "resourceslices":
                return self._authorize_resource_slice(node, attributes)
            case "certificates.k8s.io", "podcertificaterequests":
                return self._authorize_pod_certificate_request(node, attributes)
            case "", "nodes":
                return _authorize_node(node, attributes)
            case "", "pods":
                return self._authorize_pod(node, attributes)
        return None

    def _authorize_related(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if not attributes.name:
            return _deny("No Object name found")
        if self._relations.is_related(node, attributes.resource, attributes.namespace, attributes.name):
            return _ALLOWED
        return _deny(f"no relationship found between node '{node}' and this object")

    def _authorize_get(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if attributes.verb != "get":
            return _deny("can only get individual resources of this type")
        return _deny("cannot get subresource") if attributes.subresource else self._authorize_related(node, attributes)

    def _authorize_read(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        # list and watch of a single name are the kubelet's way to follow a secret or ConfigMap.
        if attributes.verb not in ("get", "list", "watch"):
            return _deny("can only read resources of this type")
        if attributes.subresource:
            return _deny("cannot read subresource")
        if not attributes.namespace:
            return _deny("can only read namespaced object of this type")
        return self._authorize_related(node, attributes)

    def _authorize_status_update(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if attributes.verb not in ("update", "patch"):
            return _deny("can only get/update/patch this type")
        return self._authorize_related(node, attributes)

    def _authorize_service_account(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            if any(
                map(self._caps.enabled, ("KubeletServiceAccountTokenForCredentialProviders", "PodCertificateRequest"))
            ):
                return self._authorize_read(node, attributes)
            return _deny("not allowed to get service accounts")
        if attributes.verb != "create" or not attributes.name:
            return _deny("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _deny("can only create token subresource of serviceaccount")
        return self._authorize_related(node, attributes)

    def _authorize_resource_slice(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if attributes.subresource:
            return _deny("cannot authorize ResourceSlice subresources")
        match attributes.verb:
            case "create":
                return _ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._authorize_related(node, attributes)
            case "watch" | "list" | "deletecollection":
                why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
                return _ALLOWED if _is_limited_to(attributes, "spec.nodeName", node) else _deny(why)
        verbs = "get, watch, list, create, update, patch, delete, deletecollection"
        return _deny(f"only the following verbs are allowed for a ResourceSlice: {verbs}")

    def _authorize_pod_certificate_request(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        if not self._caps.enabled("PodCertificateRequest"):
            return _NO_OPINION
        if attributes.subresource:
            return _deny("nodes may not access the status subresource of PodCertificateRequests")
        match attributes.verb:
            case "create":
                return _ALLOWED
            case "get":
                return self._authorize_related(node, attributes)
            case "list" | "watch":
                why = "can only list/watch podcertificaterequests with nodeName field selector"
                return _ALLOWED if _is_limited_to(attributes, "spec.nodeName", node) else _deny(why)
        return _deny(f"nodes may not {attributes.verb} podcertificaterequests")

    def _authorize_pod(self, node: str, attributes: AuthorizationAttributes) -> Decision:
        match attributes.subresource, attributes.verb:
            case "", "get":
                return self._authorize_get(node, attributes)
            case "", "list" | "watch":
                if _is_limited_to(attributes, "spec.nodeName", node):
                    return _ALLOWED
                why = "can only list/watch pods with spec.nodeName field selector"
                return self._authorize_related(node, attributes) if attributes.name else _deny(why)
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return _ALLOWED
        return _NO_OPINION


def _authorize_node(node: str, attributes: AuthorizationAttributes) -> Decision:
    match attributes.subresource, attributes.verb:
        # NodeRestriction checks that it is the kubelet's own node; a create has no name here.
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return _ALLOWED
        case "", "get" | "list" | "watch":
            if attributes.name == node:
                return _ALLOWED
            what = f"cannot read '{attributes.name}'" if attributes.name else "cannot read all nodes"
            return _deny(f"node '{node}' {what}, only its own Node object")
    return _NO_OPINION


def _authorize_lease(node: str, attributes: AuthorizationAttributes) -> Decision:
    if attributes.verb not in _WRITE_AND_GET:
        return _deny("can only get, create, update, patch, or delete a node lease")
    if attributes.namespace != _LEASE_NAMESPACE:
        return _deny(f'can only access leases in the "{_LEASE_NAMESPACE}" system namespace')
    if attributes.verb != "create" and attributes.name != node:
        return _deny("can only access node lease with the same name as the requesting node")
    return _ALLOWED


def _authorize_csi_node(node: str, attributes: AuthorizationAttributes) -> Decision:
    if attributes.verb not in _WRITE_AND_GET:
        return _deny("can only get, create, update, patch, or delete a CSINode")
    if attributes.subresource:
        return _deny("cannot authorize CSINode subresources")
    if attributes.verb != "create" and attributes.name != node:
        return _deny("can only access CSINode with the same name as the requesting node")
    return _ALLOWED


def _is_limited_to(attributes: AuthorizationAttributes, field: str, value: str) -> bool:
    return any(one.field == field and one.value == value and not one.negated for one in attributes.field_requirements)


def _deny(why: str) -> Decision:
    return Decision(allowed=False, reason=why)
