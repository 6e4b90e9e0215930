"""`pods/log`: which container's, in what form, and the text of a container that does not really run."""

from typing import Final

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.options import Query, first, integer
from mockkube.apiserver.registry.resource import Call, Resource

LOGS_ANNOTATION: Final = "mockkube.dev/logs"
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


async def read(pods: Resource, call: Call, query: Query) -> str:
    """The log of a container: the text of an annotation, or a line that says that nothing runs here."""
    # upstream 1.36: pkg/registry/core/pod/strategy.go, LogLocation
    _judge(call.name, query)
    await pods.services.cache.fresh()
    record = pods.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object("", "pods", call.name)
    pod = record.load()
    container = choose(pod, first(query, "container"))
    if not pod["spec"].get("nodeName"):
        return ""
    annotations = pod["metadata"].get("annotations", {})
    text: str = (
        annotations.get(f"{LOGS_ANNOTATION}.{container}")
        or annotations.get(LOGS_ANNOTATION)
        or (f"mockkube: {call.namespace}/{call.name}/{container} runs no process; set the annotation {LOGS_ANNOTATION}")
    )
    lines = text.splitlines()
    tail = integer(query, "tailLines")
    shown = lines if tail is None else lines[len(lines) - tail :] if tail else []
    return "".join(f"{line}\n" for line in shown)


def choose(pod: ReadOnlyObject, container: str) -> str:
    """The container that is meant; BadRequest when that is not clear."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    names = {key: [one["name"] for one in spec.get(key, ())] for key in _LISTS}
    if container:
        if not any(container in found for found in names.values()):
            raise BadRequest(f"container {container} is not valid for pod {name}")
        return container
    if len(names["containers"]) == 1:
        return str(names["containers"][0])
    listed = f"a container name must be specified for pod {name}, choose one of: {_shown(names['containers'])}"
    if names["initContainers"]:
        listed += f" or one of the init containers: {_shown(names['initContainers'])}"
    if names["ephemeralContainers"]:
        listed += f" or one of the ephemeral containers: {_shown(names['ephemeralContainers'])}"
    raise BadRequest(listed)


def _shown(names: list[str]) -> str:
    return f"[{' '.join(names)}]"


def _judge(name: str, query: Query) -> None:
    errors: list[FieldError] = []
    tail, limit, since = (integer(query, key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
    if tail is not None and tail < 0:
        errors.append(invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(invalid("limitBytes", limit, "must be greater than 0"))
    if since is not None and since < 1:
        errors.append(invalid("sinceSeconds", since, "must be greater than 0"))
    if errors:
        raise Invalid("", "PodLogOptions", name, errors)
