"""NamespaceExists: reject requests in namespaces that do not exist."""

from mockkube.api.errors import NotFound
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


class NamespaceExists(Plugin):
    """Rejects requests in missing namespaces, including deletions."""

    # upstream 1.36: plugin/pkg/admission/namespace/exists/admission.go
    name = "NamespaceExists"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def validate(self, request: Request) -> None:
        """Look up the namespace of the request."""
        namespace = request.call.namespace
        if not namespace or request.of_kind("", "namespaces"):
            return
        if request.find("", "namespaces").record("", namespace) is None:
            raise NotFound.for_object("", "namespaces", namespace)
