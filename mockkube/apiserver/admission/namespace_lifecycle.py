"""NamespaceLifecycle: reject new objects in missing or terminating namespaces; protect system namespaces."""

from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, NotFound
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

IMMORTAL: Final = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle(Plugin):
    """Binds objects to the lifecycle of their namespace."""

    # upstream 1.36: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
    name = "NamespaceLifecycle"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def admit(self, request: Request) -> None:
        """Reject creation in a terminating namespace, writes in a missing one, and deletion of system namespaces."""
        namespace, deletes = request.call.namespace, request.operation is Operation.DELETE
        if request.of_kind("", "namespaces"):
            if deletes and request.call.name in IMMORTAL:
                raise refuse(request, "this namespace may not be deleted")
            return
        if not namespace or deletes:
            return
        phase = _phase(request, namespace)
        if phase == "Terminating" and request.operation is Operation.CREATE:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            error = refuse(request, why)
            assert error.details is not None
            message = f"namespace {namespace} is being terminated"
            # Clients recognize this cause: controllers stop creating objects in the namespace.
            cause = {"reason": NAMESPACE_TERMINATING, "message": message, "field": "metadata.namespace"}
            error.details["causes"] = [cause]
            raise error


def _phase(request: Request, namespace: str) -> str:
    record = request.find("", "namespaces").record("", namespace)
    if record is None:
        raise NotFound.for_object("", "namespaces", namespace)
    return record.fields["status.phase"]
