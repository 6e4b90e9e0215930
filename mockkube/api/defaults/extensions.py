"""Defaults of CustomResourceDefinitions and APIServices."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


def default_custom_resource_definition(definition: Object, caps: Capabilities) -> None:
    """Derive names from the kind, set conversion None, and record the stored version."""
    # upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go
    spec = definition.setdefault("spec", {})
    _default_names(spec.setdefault("names", {}))
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    default_service_port(conversion.get("webhook", {}).get("clientConfig", {}))
    status = definition.setdefault("status", {})
    if not status.get("storedVersions"):
        stored = [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


def _default_names(names: Object) -> None:
    kind = names.get("kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


def default_api_service(api_service: Object, caps: Capabilities) -> None:
    """Default the service port to 443."""
    # upstream 1.36: kube-aggregator/pkg/apis/apiregistration/v1/defaults.go
    default_service_port(api_service.get("spec", {}))


def default_service_port(client: Object) -> None:
    """Default the port of a service reference to 443."""
    service = client.get("service")
    if service is not None:
        service.setdefault("port", 443)
