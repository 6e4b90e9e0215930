"""Defaults of TokenRequests and PodCertificateRequests."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


def default_token_request(request: Object, caps: Capabilities) -> None:
    """Default the expiration to an hour."""
    # upstream 1.36: pkg/apis/authentication/v1/defaults.go
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 60 * 60


def default_pod_certificate_request(request: Object, caps: Capabilities) -> None:
    """Default the maximum expiration to a day."""
    # upstream 1.36: pkg/apis/certificates/v1beta1/zz_generated.defaults.go
    request.setdefault("spec", {}).setdefault("maxExpirationSeconds", 24 * 60 * 60)
