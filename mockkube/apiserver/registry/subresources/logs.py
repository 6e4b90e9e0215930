"""`pods/log`: choose the container and the part of its log; the text is simulated, as containers do not really run."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors import fields
from mockkube.api.times import parse_time, render_time
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.options import ListOptions, Query, first_value, parse_bool, parse_optional_int
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.subresources.container_starts import make_container_start
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.programs.entrypoints import has_command

if TYPE_CHECKING:
    from mockkube.shell.containers.interpreter import CommandResult

LOGS_ANNOTATION: Final = "mockkube.dev/logs"
# Times in a status are whole seconds, so a container may have run up to that much longer than its status says.
_STATUS_PRECISION: Final = timedelta(seconds=0.999)
CONTAINER_FIELDS: Final = ("initContainers", "containers", "ephemeralContainers")
STATUS_FIELDS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
# How far the output of a command is computed ahead while its log is followed: as long again as the container has run,
# so that a long log is interpreted a few times and not every second.
_LOOKAHEAD_MIN: Final = timedelta(seconds=30)
_LOOKAHEAD_MAX: Final = timedelta(minutes=10)
_PULL_REASONS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@dataclass(frozen=True, slots=True)
class ContainerLogLine:
    """Line of a log, with its line end if it has one, and when it began."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class _ContainerRun:
    """One run of a container: its number, its start, and its end if it is over."""

    container: str
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
    follow: bool

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
            parse_bool(query, "timestamps"),
            parse_bool(query, "previous"),
            parse_bool(query, "follow"),
        )

    def select(self, lines: Sequence[ContainerLogLine]) -> Sequence[ContainerLogLine]:
        """Return those of the lines so far that the options select."""
        lines = [line for line in lines if self.since is None or line.time >= self.since]
        return lines if self.tail is None else lines[max(0, len(lines) - self.tail) :] if self.tail else ()

    def render(self, lines: Sequence[ContainerLogLine]) -> str:
        """Return the text of lines."""
        return "".join(f"{render_time(line.time)} {line.text}" if self.timestamps else line.text for line in lines)


class PodLog:
    """Log of one run of a container, as the options of a request select it."""

    def __init__(self, pods: Resource, pod: ReadOnlyObject, run: "_ContainerRun", options: _LogOptions) -> None:
        self._pods, self._pod, self._run, self._options = pods, pod, run, options

    @property
    def is_followed(self) -> bool:
        """True if the request follows the log until the container ends."""
        return self._options.follow

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield the log so far and, if it is followed, each further part until the container ends."""
        left = self._options.bytes_max
        async with aclosing(self._read_texts()) as texts:
            async for text in texts:
                # Log lines of simulated containers may hold text that is no valid Unicode.
                data = text.encode(errors="surrogateescape")
                if left is not None:
                    # A character that the limit cuts is left out.
                    data = data if len(data) <= left else data[:left].decode(errors="ignore").encode()
                    left -= len(data) if len(data) < left else left
                yield data
                if left == 0:
                    return

    async def _read_texts(self) -> AsyncGenerator[str, None]:
        now = self._pods.dependencies.clock.now()
        if not self._options.follow:
            lines = self._find_lines(now)
            yield self._options.render(self._options.select(lines))
            return
        watch = await open_pod_watch(self._pods, self._pod)
        try:
            shown, is_first = 0, True
            while True:
                self._update_run()
                now = self._pods.dependencies.clock.now()
                ahead = min(max(now - self._run.started_at, _LOOKAHEAD_MIN), _LOOKAHEAD_MAX)
                lines = self._find_lines(now + ahead)
                count = self._count_written(lines, now)
                if count > shown or is_first:
                    fresh = self._options.select(lines[:count]) if is_first else lines[shown:count]
                    yield self._options.render(fresh)
                    shown, is_first = count, False
                if self._run.finished_at is not None or watch.has_lagged or watch.is_stopped:
                    return
                coming = lines[shown].time - now if len(lines) > shown and lines[shown].time > now else ahead
                await self._wait(watch, coming)
        finally:
            watch.close()

    def _count_written(self, lines: Sequence[ContainerLogLine], now: datetime) -> int:
        """Return how many of the lines are complete by now."""
        if self._run.finished_at is not None:
            return len(lines)
        # As with a real runtime, a line appears in the log when it has its end.
        return sum(1 for line in lines if line.time <= now and line.text.endswith("\n"))

    async def _wait(self, watch: watching.CacheWatcher, time: timedelta) -> None:
        """Return once the pod has changed or some time has passed."""
        sleep = asyncio.ensure_future(self._pods.dependencies.clock.sleep(time.total_seconds()))
        change = asyncio.ensure_future(watch.wait())
        try:
            await asyncio.wait((sleep, change), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleep, change):
                task.cancel()
            await asyncio.gather(sleep, change, return_exceptions=True)
        watch.take_events()

    def _update_run(self) -> None:
        """Read from the present pod whether the run is over."""
        metadata, run = self._pod["metadata"], self._run
        if run.finished_at is not None:
            return
        cached = self._pods.get_cached(metadata["namespace"], metadata["name"])
        now = self._pods.dependencies.clock.now()
        if cached is None or cached.load()["metadata"]["uid"] != metadata["uid"]:
            self._run = replace(run, finished_at=now)
            return
        self._pod = cached.load()
        found = _find_status(self._pod, run.container)
        if found is None:
            return
        terminated = (found.get("state") or {}).get("terminated") or (found.get("lastState") or {}).get("terminated")
        over = "running" not in (found.get("state") or {}) or (found.get("restartCount") or 0) > run.number
        if over and terminated:
            self._run = _to_run(run.container, run.number, terminated, self._pod)

    def _find_lines(self, until: datetime) -> list[ContainerLogLine]:
        """Return the lines up to a time: of an annotation, the command or a placeholder."""
        lines = _lines_of_annotation(self._pod, self._run) or _lines_of_command(self._pods, self._pod, self._run, until)
        return lines or ([] if lines is not None else _placeholder(self._pod, self._run))


async def open_pod_watch(pods: Resource, pod: ReadOnlyObject) -> watching.CacheWatcher:
    """Return a watch of one pod, to close after use."""
    metadata = pod["metadata"]
    selected = ListOptions(fields=fields.parse(f"metadata.name={fields.escape(metadata['name'])}"))
    return await watching.open_watch(pods, metadata["namespace"], selected)


async def read_log(pods: Resource, scope: RequestScope, query: Query) -> str:
    """Return the log of a container as text; a log that is followed, until the container ends."""
    log = await open_log(pods, scope, query)
    return "" if log is None else b"".join([part async for part in log.read()]).decode()


async def open_log(pods: Resource, scope: RequestScope, query: Query) -> PodLog | None:
    """Return the log of a container; None for a pod without a node, which upstream answers with an empty log."""
    # upstream 1.36: pkg/registry/core/pod/strategy.go, LogLocation; pkg/kubelet/kubelet_pods.go
    wanted = _LogOptions.parse(scope.name, query, pods.dependencies.clock.now())
    await pods.dependencies.watch_cache.wait_until_fresh()
    cached = pods.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object("", "pods", scope.name)
    pod = cached.load()
    container = choose_container(pod, first_value(query, "container"))
    if not pod["spec"].get("nodeName"):
        return None
    return PodLog(pods, pod, _find_run(pod, container, previous=wanted.previous), wanted)


def _lines_of_annotation(pod: ReadOnlyObject, run: _ContainerRun) -> list[ContainerLogLine]:
    """Return the lines of the annotation, all written at the start of the container."""
    annotations = pod["metadata"].get("annotations") or {}
    text: str = annotations.get(f"{LOGS_ANNOTATION}.{run.container}") or annotations.get(LOGS_ANNOTATION) or ""
    return [ContainerLogLine(run.started_at, f"{line}\n") for line in text.splitlines()]


def _placeholder(pod: ReadOnlyObject, run: _ContainerRun) -> list[ContainerLogLine]:
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}/{run.container}"
    return [
        ContainerLogLine(run.started_at, f"mockkube: {place} runs no process; set the annotation {LOGS_ANNOTATION}\n")
    ]


def _lines_of_command(
    pods: Resource, pod: ReadOnlyObject, run: _ContainerRun, until: datetime
) -> list[ContainerLogLine] | None:
    """Return what the command of a container prints up to a time; None if that is not known."""
    spec = next(one for key in CONTAINER_FIELDS for one in pod["spec"].get(key, ()) if one["name"] == run.container)
    if not has_command(spec):
        return None
    from mockkube.shell.containers.interpreter import (  # imported for the first log: most servers serve none
        ContainerEnd,
        interpret,
    )

    if run.finished_at is not None:
        until = run.finished_at + _STATUS_PRECISION
    start = make_container_start(pods, run.number, run.started_at)
    result = interpret(pod, spec, start, until=(until - run.started_at).total_seconds())
    lines = list(_join_lines(result, run.started_at))
    return None if result.end is ContainerEnd.UNKNOWN and not lines else lines


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
    found = _find_status(pod, container)
    if found is None and not previous:
        return _ContainerRun(container, 0, parse_time(status.get("startTime") or pod["metadata"]["creationTimestamp"]))
    state, last = (found or {}).get("state") or {}, ((found or {}).get("lastState") or {}).get("terminated")
    restarts = (found or {}).get("restartCount") or 0
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        # The kubelet reports a termination without an id for containers that were never started.
        if not last or not last.get("containerID"):
            raise BadRequest(f"previous terminated {where} not found")
        return _to_run(container, restarts if "waiting" in state else max(0, restarts - 1), last, pod)
    run = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = (state.get("waiting") or {}).get("reason", "")
        raise BadRequest(f"{where} is waiting to start: {_PULL_REASONS.get(reason, reason)}")
    if "running" not in state and not run.get("containerID"):
        raise BadRequest(f"{where} is terminated")
    return _to_run(container, restarts, run, pod)


def _find_status(pod: ReadOnlyObject, container: str) -> ReadOnlyObject | None:
    status = pod.get("status") or {}
    known = (one for key in STATUS_FIELDS for one in status.get(key) or () if one["name"] == container)
    return next(known, None)


def _to_run(container: str, number: int, shown: ReadOnlyObject, pod: ReadOnlyObject) -> _ContainerRun:
    began = parse_time(shown.get("startedAt") or pod["metadata"]["creationTimestamp"])
    ended = shown.get("finishedAt")
    return _ContainerRun(container, number, began, parse_time(ended) if ended else None)


def _parse_since_time(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        raise BadRequest(f"sinceTime: {text} is not a time in RFC 3339") from None


def choose_container(pod: ReadOnlyObject, container: str) -> str:
    """Return the container to read; raise BadRequest if the request must name one."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    names = {key: [one["name"] for one in spec.get(key, ())] for key in CONTAINER_FIELDS}
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
