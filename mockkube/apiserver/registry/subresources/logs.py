"""`pods/log`: choose the container and the part of its log; the text is simulated, as containers do not really run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.times import parse_time, render_time
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.options import Query, first, integer
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.shell.entrypoints import has_command

if TYPE_CHECKING:
    from mockkube.shell.interpreter import CommandResult

LOGS_ANNOTATION: Final = "mockkube.dev/logs"
# Times in a status are whole seconds, so a container may have run up to that much longer than its status says.
_SECOND: Final = timedelta(seconds=0.999)
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PULLS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a log, with its line end if it has one, and when it began."""

    written: datetime
    text: str


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a container: its number, its start, and its end if it is over."""

    number: int
    began: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Options of a log request (upstream: PodLogOptions); None where an option is not set."""

    tail: int | None
    bytes_max: int | None
    since: datetime | None
    timestamps: bool
    previous: bool

    @classmethod
    def read(cls, name: str, query: Query, now: datetime) -> "_Wanted":
        """Parse and validate the query; raise Invalid."""
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

    def cut(self, lines: Sequence[Line]) -> str:
        """Return the part of these lines that the options select."""
        lines = [line for line in lines if self.since is None or line.written >= self.since]
        shown = lines if self.tail is None else lines[max(0, len(lines) - self.tail) :] if self.tail else ()
        text = "".join(f"{render_time(line.written)} {line.text}" if self.timestamps else line.text for line in shown)
        return text if self.bytes_max is None else text.encode()[: self.bytes_max].decode(errors="ignore")


async def read(pods: Resource, call: Call, query: Query) -> str:
    """Return the log of a container: from an annotation, or the output of its command, or a placeholder."""
    # upstream 1.36: pkg/registry/core/pod/strategy.go, LogLocation; pkg/kubelet/kubelet_pods.go
    # differs: to follow a log is to read it once
    wanted = _Wanted.read(call.name, query, pods.services.clock.now())
    await pods.services.cache.fresh()
    record = pods.record(call.namespace, call.name)
    if record is None:
        raise NotFound.for_object("", "pods", call.name)
    pod = record.load()
    container = choose(pod, first(query, "container"))
    # A pod without a node has no kubelet that could be asked; upstream answers with an empty log, too.
    if not pod["spec"].get("nodeName"):
        return ""
    run = _run_of(pod, container, previous=wanted.previous)
    lines = _annotated(pod, container, run) or _said(pods, pod, container, run)
    return wanted.cut(lines or _silent(pod, container, run))


def _annotated(pod: ReadOnlyObject, container: str, run: _Run) -> list[Line]:
    """Return the lines of the annotation, all written at the start of the container."""
    annotations = pod["metadata"].get("annotations") or {}
    text: str = annotations.get(f"{LOGS_ANNOTATION}.{container}") or annotations.get(LOGS_ANNOTATION) or ""
    return [Line(run.began, f"{line}\n") for line in text.splitlines()]


def _silent(pod: ReadOnlyObject, container: str, run: _Run) -> list[Line]:
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}/{container}"
    return [Line(run.began, f"mockkube: {place} runs no process; set the annotation {LOGS_ANNOTATION}\n")]


def _said(pods: Resource, pod: ReadOnlyObject, container: str, run: _Run) -> list[Line] | None:
    """Return what the command of a container has printed up to now; None if it prints nothing."""
    spec = next(one for key in _LISTS for one in pod["spec"].get(key, ()) if one["name"] == container)
    if not has_command(spec):
        return None
    from mockkube.shell.environment import ContainerStart  # imported for the first log: most servers serve none
    from mockkube.shell.interpreter import ContainerEnd, interpret

    until = run.ended + _SECOND if run.ended is not None else pods.services.clock.now()
    start = ContainerStart(run.number, run.began, lambda kind, namespace, name: _found(pods, kind, namespace, name))
    result = interpret(pod, spec, start, until=(until - run.began).total_seconds())
    lines = list(_in_lines(result, run.began))
    return None if result.end is ContainerEnd.UNSAID and not lines else lines


def _found(pods: Resource, kind: str, namespace: str, name: str) -> ReadOnlyObject | None:
    resource = pods.services.of_kind("v1", kind)
    record = resource.record(namespace, name) if resource is not None else None
    return None if record is None else {**record.load(), "kind": kind}


def _in_lines(said: "CommandResult", began: datetime) -> Iterator[Line]:
    """Join printed pieces into lines."""
    begun, text = began, ""
    for printed in said.printed:
        for piece in printed.text.splitlines(keepends=True):
            # A line has the time of its first piece.
            begun = begun if text else began + timedelta(seconds=printed.at)
            text += piece
            if text.endswith("\n"):
                yield Line(begun, text)
                text = ""
    if text:
        yield Line(begun, text)


def _run_of(pod: ReadOnlyObject, container: str, *, previous: bool) -> _Run:
    """Return the run of a container whose log is requested; raise BadRequest if there is none yet.

    A pod without container statuses counts as running, because there may be no kubelet that reports them.
    """
    status = pod.get("status") or {}
    known = (one for key in _STATUSES for one in status.get(key) or () if one["name"] == container)
    found = next(known, None)
    if found is None and not previous:
        return _Run(0, parse_time(status.get("startTime") or pod["metadata"]["creationTimestamp"]))
    state, last = (found or {}).get("state") or {}, ((found or {}).get("lastState") or {}).get("terminated")
    restarts = (found or {}).get("restartCount") or 0
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        # The kubelet reports a termination without an id for containers that were never started.
        if not last or not last.get("containerID"):
            raise BadRequest(f"previous terminated {where} not found")
        return _run(restarts if "waiting" in state else max(0, restarts - 1), last, pod)
    run = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = (state.get("waiting") or {}).get("reason", "")
        raise BadRequest(f"{where} is waiting to start: {_PULLS.get(reason, reason)}")
    if "running" not in state and not run.get("containerID"):
        raise BadRequest(f"{where} is terminated")
    return _run(restarts, run, pod)


def _run(number: int, shown: ReadOnlyObject, pod: ReadOnlyObject) -> _Run:
    began = parse_time(shown.get("startedAt") or pod["metadata"]["creationTimestamp"])
    ended = shown.get("finishedAt")
    return _Run(number, began, parse_time(ended) if ended else None)


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        raise BadRequest(f"sinceTime: {text} is not a time in RFC 3339") from None


def _on(query: Query, name: str) -> bool:
    return first(query, name) in ("1", "true")


def choose(pod: ReadOnlyObject, container: str) -> str:
    """Return the container to read; raise BadRequest if the request must name one."""
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
