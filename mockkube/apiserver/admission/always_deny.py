"""AlwaysDeny: reject every request that would change something."""

from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


class AlwaysDeny(Plugin):
    """Rejects every request."""

    # upstream 1.36: plugin/pkg/admission/deny/admission.go
    name = "AlwaysDeny"
    operations = tuple(Operation)

    def admit(self, request: Request) -> None:
        """Reject the request."""
        raise refuse(request, "admission control is denying all modifications")

    def validate(self, request: Request) -> None:
        """Reject the request."""
        raise refuse(request, "admission control is denying all modifications")
