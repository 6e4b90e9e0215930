"""NamespaceLifecycle: reject new objects in missing or terminating namespaces; protect system namespaces."""

from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, NotFound
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

IMMORTAL_NAMESPACES: Final = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle(AdmissionPlugin):
    """Binds objects to the lifecycle of their namespace."""

    # upstream 1.36: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
    name = "NamespaceLifecycle"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def admit(self, request: AdmissionAttributes) -> None:
        """Reject creation in a terminating namespace, writes in a missing one, and deletion of system namespaces."""
        namespace, deletes = request.scope.namespace, request.operation is Operation.DELETE
        if request.is_for_resource("", "namespaces"):
            if deletes and request.scope.name in IMMORTAL_NAMESPACES:
                raise new_forbidden(request, "this namespace may not be deleted")
            return
        if not namespace or deletes:
            return
        phase = _namespace_phase(request, namespace)
        if phase == "Terminating" and request.operation is Operation.CREATE:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            error = new_forbidden(request, why)
            assert error.details is not None
            message = f"namespace {namespace} is being terminated"
            # Clients recognize this cause: controllers stop creating objects in the namespace.
            cause = {"reason": NAMESPACE_TERMINATING, "message": message, "field": "metadata.namespace"}
            error.details["causes"] = [cause]
            raise error

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the namespace is missing, which rejects an update."""
        namespace = request.scope.namespace
        return bool(namespace) and request.find_resource("", "namespaces").get_cached("", namespace) is None


def _namespace_phase(request: AdmissionAttributes, namespace: str) -> str:
    cached = request.find_resource("", "namespaces").get_cached("", namespace)
    if cached is None:
        raise NotFound.for_object("", "namespaces", namespace)
    return cached.fields["status.phase"]
