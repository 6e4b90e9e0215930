"""DenyServiceExternalIPs: reject new external IPs of services."""

from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin


class DenyServiceExternalIPs(AdmissionPlugin):
    """Rejects external IPs that a service does not have yet."""

    # upstream 1.36: plugin/pkg/admission/network/denyserviceexternalips/admission.go
    name = "DenyServiceExternalIPs"
    resources = (("", "services"),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Compare the external IPs with those of the old service."""
        if not request.is_for("", "services"):
            return
        had = (request.old or {}).get("spec", {}).get("externalIPs") or ()
        if any(ip not in had for ip in request.new["spec"].get("externalIPs") or ()):
            raise new_forbidden(request, "Use of external IPs is denied by admission control")
