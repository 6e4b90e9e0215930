"""Errors of admission plugins: Forbidden, about the object of the request."""

from mockkube.api.errors import Forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes


def new_forbidden(request: AdmissionAttributes, why: str) -> Forbidden:
    """Return the Forbidden error for a request, with the plugin's reason."""
    resource = request.resource
    return Forbidden.for_object(resource.group, resource.plural, object_name(request), why)


def object_name(request: AdmissionAttributes) -> str:
    """Return the name of the object for errors; its generateName if it has no name yet."""
    # upstream 1.36: apiserver/pkg/admission/errors.go, extractResourceName
    if request.scope.name or request.obj is None:
        return request.scope.name or "Unknown"
    metadata = request.obj["metadata"]
    return metadata.get("name") or metadata.get("generateName") or "Unknown"


def join_reasons(reasons: list[str]) -> str:
    """Join several reasons into one text: each once, in brackets if there are more than one."""
    texts = list(dict.fromkeys(reasons))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
