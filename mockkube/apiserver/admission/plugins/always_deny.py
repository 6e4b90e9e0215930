"""AlwaysDeny: reject every request that would change something."""

from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class AlwaysDeny(AdmissionPlugin):
    """Rejects every request."""

    # upstream 1.36: plugin/pkg/admission/deny/admission.go
    name = "AlwaysDeny"
    operations = tuple(Operation)

    def admit(self, request: AdmissionAttributes) -> None:
        """Reject the request."""
        raise new_forbidden(request, "admission control is denying all modifications")

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject the request."""
        raise new_forbidden(request, "admission control is denying all modifications")
