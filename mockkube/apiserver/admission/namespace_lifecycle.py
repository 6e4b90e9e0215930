"""NamespaceLifecycle: nothing is made in a namespace that is missing or on its way out; some namespaces stay."""

from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, NotFound
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

IMMORTAL: Final = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle(Plugin):
    """Ties what is in a namespace to the life of the namespace."""

    # upstream 1.36: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
    name = "NamespaceLifecycle"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def admit(self, request: Request) -> None:
        """Refuse objects in a namespace that is missing or being terminated, and to delete what every cluster has."""
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
            cause = {"reason": NAMESPACE_TERMINATING, "message": message, "field": "metadata.namespace"}
            error.details["causes"] = [cause]
            raise error


def _phase(request: Request, namespace: str) -> str:
    record = request.find("", "namespaces").record("", namespace)
    if record is None:
        raise NotFound.object("", "namespaces", namespace)
    return record.fields["status.phase"]
