"""`pods/log`: which container's, in what form, and the text of a container that does not really run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.times import parse_time, render_time
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.options import Query, first, integer
from mockkube.apiserver.registry.resource import Call, Resource

LOGS_ANNOTATION: Final = "mockkube.dev/logs"
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PULLS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which part of a log is asked for, and in what form; what is None is not asked for."""

    tail: int | None
    bytes_max: int | None
    since: datetime | None
    timestamps: bool
    previous: bool

    @classmethod
    def read(cls, name: str, query: Query, now: datetime) -> "_Wanted":
        """Read and judge a query; Invalid says what is wrong with it."""
        errors: list[FieldError] = []
        tail, limit, seconds = (integer(query, key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
        if tail is not None and tail < 0:
            errors.append(invalid("tailLines", tail, "must be greater than or equal to 0"))
        if limit is not None and limit < 1:
            errors.append(invalid("limitBytes", limit, "must be greater than 0"))
        if seconds is not None and seconds < 1:
            errors.append(invalid("sinceSeconds", seconds, "must be greater than 0"))
        if errors:
            raise Invalid("", "PodLogOptions", name, errors)
        since = None if seconds is None else now - timedelta(seconds=seconds)
        return cls(
            tail, limit, since or _moment(first(query, "sinceTime")), _on(query, "timestamps"), _on(query, "previous")
        )

    def cut(self, lines: Sequence[str], written: datetime) -> str:
        """Return the part of these lines, all written at that moment, that is asked for."""
        if self.since is not None and written < self.since:
            return ""
        shown = lines if self.tail is None else lines[len(lines) - self.tail :] if self.tail else ()
        stamp = f"{render_time(written)} " if self.timestamps else ""
        text = "".join(f"{stamp}{line}\n" for line in shown)
        return text if self.bytes_max is None else text.encode()[: self.bytes_max].decode(errors="ignore")


async def read(pods: Resource, call: Call, query: Query) -> str:
    """The log of a container: the text of an annotation, or a line that says that nothing runs here."""
    # upstream 1.36: pkg/registry/core/pod/strategy.go, LogLocation; pkg/kubelet/kubelet_pods.go
    # differs: to follow a log is to read it once, for nothing is ever added to it
    wanted = _Wanted.read(call.name, query, pods.services.clock.now())
    await pods.services.cache.fresh()
    record = pods.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object("", "pods", call.name)
    pod = record.load()
    container = choose(pod, first(query, "container"))
    if not pod["spec"].get("nodeName"):
        return ""
    return wanted.cut(_lines(pod, container), _begun(pod, container, previous=wanted.previous))


def _lines(pod: ReadOnlyObject, container: str) -> list[str]:
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    text: str = (
        annotations.get(f"{LOGS_ANNOTATION}.{container}")
        or annotations.get(LOGS_ANNOTATION)
        or f"mockkube: {metadata['namespace']}/{metadata['name']}/{container} runs no process; "
        f"set the annotation {LOGS_ANNOTATION}"
    )
    return text.splitlines()


def _begun(pod: ReadOnlyObject, container: str, *, previous: bool) -> datetime:
    """Return when the container whose log is asked for was started; BadRequest if there is no log to read yet.

    A pod whose kubelet has said nothing of its containers has one: there may be no kubelet.
    """
    status = pod.get("status") or {}
    known = (one for key in _STATUSES for one in status.get(key) or () if one["name"] == container)
    found = next(known, None)
    if found is None and not previous:
        return parse_time(status.get("startTime") or pod["metadata"]["creationTimestamp"])
    state, last = (found or {}).get("state") or {}, ((found or {}).get("lastState") or {}).get("terminated")
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        if not last or not last.get("containerID"):
            raise BadRequest(f"previous terminated {where} not found")
        return _start_of(last, pod)
    run = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = (state.get("waiting") or {}).get("reason", "")
        raise BadRequest(f"{where} is waiting to start: {_PULLS.get(reason, reason)}")
    if "running" not in state and not run.get("containerID"):
        raise BadRequest(f"{where} is terminated")
    return _start_of(run, pod)


def _start_of(run: ReadOnlyObject, pod: ReadOnlyObject) -> datetime:
    return parse_time(run.get("startedAt") or pod["metadata"]["creationTimestamp"])


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        raise BadRequest(f"sinceTime: {text} is not a time in RFC 3339") from None


def _on(query: Query, name: str) -> bool:
    return first(query, name) in ("1", "true")


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
