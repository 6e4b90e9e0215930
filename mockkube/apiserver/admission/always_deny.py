"""AlwaysDeny: nothing is changed on this server."""

from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


class AlwaysDeny(Plugin):
    """Refuses every request that would change something."""

    # upstream 1.36: plugin/pkg/admission/deny/admission.go
    name = "AlwaysDeny"
    operations = tuple(Operation)

    def admit(self, request: Request) -> None:
        """Refuse it."""
        raise refuse(request, "admission control is denying all modifications")

    def validate(self, request: Request) -> None:
        """Refuse it."""
        raise refuse(request, "admission control is denying all modifications")
