"""Defaults of TokenRequest."""

from mockkube.api.json_objects import Object
from mockkube.features.capabilities import Capabilities


def default_token_request(request: Object, caps: Capabilities) -> None:
    """Default the expiration to one hour."""
    # upstream 1.36: pkg/apis/authentication/v1/defaults.go
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 60 * 60
