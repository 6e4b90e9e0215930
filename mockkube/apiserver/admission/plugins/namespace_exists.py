"""NamespaceExists: reject requests in namespaces that do not exist."""

from mockkube.api.errors import NotFound
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class NamespaceExists(AdmissionPlugin):
    """Rejects requests in missing namespaces, including deletions."""

    # upstream 1.36: plugin/pkg/admission/namespace/exists/admission.go
    name = "NamespaceExists"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def validate(self, request: AdmissionAttributes) -> None:
        """Look up the namespace of the request."""
        namespace = request.scope.namespace
        if not namespace or request.is_for_resource("", "namespaces"):
            return
        if request.find_resource("", "namespaces").get_cached("", namespace) is None:
            raise NotFound.for_object("", "namespaces", namespace)
