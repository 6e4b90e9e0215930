"""`pods/log`: choose the container and the part of its log; the text is simulated, as containers do not really run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.times import parse_time, render_time
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.options import Query, first_value, parse_optional_int
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.shell.entrypoints import has_command

if TYPE_CHECKING:
    from mockkube.shell.interpreter import CommandResult

LOGS_ANNOTATION: Final = "mockkube.dev/logs"
# Times in a status are whole seconds, so a container may have run up to that much longer than its status says.
_STATUS_PRECISION: Final = timedelta(seconds=0.999)
_CONTAINER_FIELDS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUS_FIELDS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PULL_REASONS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@dataclass(frozen=True, slots=True)
class ContainerLogLine:
    """Line of a log, with its line end if it has one, and when it began."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class _ContainerRun:
    """One run of a container: its number, its start, and its end if it is over."""

    number: int
    started_at: datetime
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _LogOptions:
    """Options of a log request (upstream: PodLogOptions); None where an option is not set."""

    tail: int | None
    bytes_max: int | None
    since: datetime | None
    timestamps: bool
    previous: bool

    @classmethod
    def parse(cls, name: str, query: Query, now: datetime) -> "_LogOptions":
        """Parse and validate the query; raise Invalid."""
        errors: list[FieldError] = []
        tail, limit, seconds = (parse_optional_int(query, key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
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
            tail,
            limit,
            since or _parse_since_time(first_value(query, "sinceTime")),
            _is_true(query, "timestamps"),
            _is_true(query, "previous"),
        )

    def select(self, lines: Sequence[ContainerLogLine]) -> str:
        """Return the part of these lines that the options select."""
        lines = [line for line in lines if self.since is None or line.time >= self.since]
        shown = lines if self.tail is None else lines[max(0, len(lines) - self.tail) :] if self.tail else ()
        text = "".join(f"{render_time(line.time)} {line.text}" if self.timestamps else line.text for line in shown)
        return text if self.bytes_max is None else text.encode()[: self.bytes_max].decode(errors="ignore")


async def read_log(pods: Resource, scope: RequestScope, query: Query) -> str:
    """Return the log of a container: from an annotation, or the output of its command, or a placeholder."""
    # upstream 1.36: pkg/registry/core/pod/strategy.go, LogLocation; pkg/kubelet/kubelet_pods.go
    # differs: to follow a log is to read it once
    wanted = _LogOptions.parse(scope.name, query, pods.dependencies.clock.now())
    await pods.dependencies.watch_cache.wait_until_fresh()
    record = pods.get_cached(scope.namespace, scope.name)
    if record is None:
        raise NotFound.for_object("", "pods", scope.name)
    pod = record.load()
    container = choose_container(pod, first_value(query, "container"))
    # A pod without a node has no kubelet that could be asked; upstream answers with an empty log, too.
    if not pod["spec"].get("nodeName"):
        return ""
    run = _find_run(pod, container, previous=wanted.previous)
    lines = _lines_of_annotation(pod, container, run) or _lines_of_command(pods, pod, container, run)
    return wanted.select(lines or _placeholder(pod, container, run))


def _lines_of_annotation(pod: ReadOnlyObject, container: str, run: _ContainerRun) -> list[ContainerLogLine]:
    """Return the lines of the annotation, all written at the start of the container."""
    annotations = pod["metadata"].get("annotations") or {}
    text: str = annotations.get(f"{LOGS_ANNOTATION}.{container}") or annotations.get(LOGS_ANNOTATION) or ""
    return [ContainerLogLine(run.started_at, f"{line}\n") for line in text.splitlines()]


def _placeholder(pod: ReadOnlyObject, container: str, run: _ContainerRun) -> list[ContainerLogLine]:
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}/{container}"
    return [
        ContainerLogLine(run.started_at, f"mockkube: {place} runs no process; set the annotation {LOGS_ANNOTATION}\n")
    ]


def _lines_of_command(
    pods: Resource, pod: ReadOnlyObject, container: str, run: _ContainerRun
) -> list[ContainerLogLine] | None:
    """Return what the command of a container has printed up to now; None if it prints nothing."""
    spec = next(one for key in _CONTAINER_FIELDS for one in pod["spec"].get(key, ()) if one["name"] == container)
    if not has_command(spec):
        return None
    from mockkube.shell.environment import ContainerStart  # imported for the first log: most servers serve none
    from mockkube.shell.interpreter import ContainerEnd, interpret

    until = run.finished_at + _STATUS_PRECISION if run.finished_at is not None else pods.dependencies.clock.now()
    start = ContainerStart(
        run.number, run.started_at, lambda kind, namespace, name: _find_object(pods, kind, namespace, name)
    )
    result = interpret(pod, spec, start, until=(until - run.started_at).total_seconds())
    lines = list(_join_lines(result, run.started_at))
    return None if result.end is ContainerEnd.UNKNOWN and not lines else lines


def _find_object(pods: Resource, kind: str, namespace: str, name: str) -> ReadOnlyObject | None:
    resource = pods.dependencies.find_by_kind("v1", kind)
    record = resource.get_cached(namespace, name) if resource is not None else None
    return None if record is None else {**record.load(), "kind": kind}


def _join_lines(result: "CommandResult", began: datetime) -> Iterator[ContainerLogLine]:
    """Join printed pieces into lines."""
    begun, text = began, ""
    for printed in result.printed:
        for piece in printed.text.splitlines(keepends=True):
            # A line has the time of its first piece.
            begun = begun if text else began + timedelta(seconds=printed.at)
            text += piece
            if text.endswith("\n"):
                yield ContainerLogLine(begun, text)
                text = ""
    if text:
        yield ContainerLogLine(begun, text)


def _find_run(pod: ReadOnlyObject, container: str, *, previous: bool) -> _ContainerRun:
    """Return the run of a container whose log is requested; raise BadRequest if there is none yet.

    A pod without container statuses counts as running, because there may be no kubelet that reports them.
    """
    status = pod.get("status") or {}
    known = (one for key in _STATUS_FIELDS for one in status.get(key) or () if one["name"] == container)
    found = next(known, None)
    if found is None and not previous:
        return _ContainerRun(0, parse_time(status.get("startTime") or pod["metadata"]["creationTimestamp"]))
    state, last = (found or {}).get("state") or {}, ((found or {}).get("lastState") or {}).get("terminated")
    restarts = (found or {}).get("restartCount") or 0
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        # The kubelet reports a termination without an id for containers that were never started.
        if not last or not last.get("containerID"):
            raise BadRequest(f"previous terminated {where} not found")
        return _to_run(restarts if "waiting" in state else max(0, restarts - 1), last, pod)
    run = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = (state.get("waiting") or {}).get("reason", "")
        raise BadRequest(f"{where} is waiting to start: {_PULL_REASONS.get(reason, reason)}")
    if "running" not in state and not run.get("containerID"):
        raise BadRequest(f"{where} is terminated")
    return _to_run(restarts, run, pod)


def _to_run(number: int, shown: ReadOnlyObject, pod: ReadOnlyObject) -> _ContainerRun:
    began = parse_time(shown.get("startedAt") or pod["metadata"]["creationTimestamp"])
    ended = shown.get("finishedAt")
    return _ContainerRun(number, began, parse_time(ended) if ended else None)


def _parse_since_time(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        raise BadRequest(f"sinceTime: {text} is not a time in RFC 3339") from None


def _is_true(query: Query, name: str) -> bool:
    return first_value(query, name) in ("1", "true")


def choose_container(pod: ReadOnlyObject, container: str) -> str:
    """Return the container to read; raise BadRequest if the request must name one."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    names = {key: [one["name"] for one in spec.get(key, ())] for key in _CONTAINER_FIELDS}
    if container:
        if not any(container in found for found in names.values()):
            raise BadRequest(f"container {container} is not valid for pod {name}")
        return container
    if len(names["containers"]) == 1:
        return str(names["containers"][0])
    listed = f"a container name must be specified for pod {name}, choose one of: {_format_names(names['containers'])}"
    if names["initContainers"]:
        listed += f" or one of the init containers: {_format_names(names['initContainers'])}"
    if names["ephemeralContainers"]:
        listed += f" or one of the ephemeral containers: {_format_names(names['ephemeralContainers'])}"
    raise BadRequest(listed)


def _format_names(names: list[str]) -> str:
    return f"[{' '.join(names)}]"
