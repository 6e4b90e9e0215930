"""Errors of admission plugins: Forbidden, about the object of the request."""

from mockkube.api.errors import Forbidden
from mockkube.apiserver.registry.admission import Request


def refuse(request: Request, why: str) -> Forbidden:
    """Return the Forbidden error for a request, with the plugin's reason."""
    resource = request.resource
    return Forbidden.for_object(resource.group, resource.plural, name_of(request), why)


def name_of(request: Request) -> str:
    """Return the name of the object for errors; its generateName if it has no name yet."""
    # upstream 1.36: apiserver/pkg/admission/errors.go, extractResourceName
    if request.call.name or request.obj is None:
        return request.call.name or "Unknown"
    metadata = request.obj["metadata"]
    return metadata.get("name") or metadata.get("generateName") or "Unknown"


def together(reasons: list[str]) -> str:
    """Join several reasons into one text: each once, in brackets if there are more than one."""
    texts = list(dict.fromkeys(reasons))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
