"""DenyServiceExternalIPs: reject new external IPs of services."""

from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Plugin, Request


class DenyServiceExternalIPs(Plugin):
    """Rejects external IPs that a service does not have yet."""

    # upstream 1.36: plugin/pkg/admission/network/denyserviceexternalips/admission.go
    name = "DenyServiceExternalIPs"

    def validate(self, request: Request) -> None:
        """Compare the external IPs with those of the old service."""
        if not request.about("", "services"):
            return
        had = (request.old or {}).get("spec", {}).get("externalIPs") or ()
        if any(ip not in had for ip in request.given["spec"].get("externalIPs") or ()):
            raise refuse(request, "Use of external IPs is denied by admission control")
