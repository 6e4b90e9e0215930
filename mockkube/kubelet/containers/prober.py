"""Probes of containers: when each is due, how often it failed in a row, and what follows from that.

upstream 1.36: pkg/kubelet/prober/worker.go. What a probe finds is computed by `mockkube.shell.containers.probes`.
"""

from collections.abc import Iterator
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart

# Probes computed in one sync; after a longer pause the missed ones are left out, as upstream's ticker does it.
PROBES_MAX: Final = 100
_PERIOD_SECONDS_DEFAULT: Final = 10
_FAILURES_DEFAULT: Final = 3


class ProbeKind(StrEnum):
    """Kind of a probe, as events name it."""

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


_FIELDS: Final = {
    ProbeKind.STARTUP: "startupProbe",
    ProbeKind.READINESS: "readinessProbe",
    ProbeKind.LIVENESS: "livenessProbe",
}


@dataclass(slots=True)
class ProbeWorker:
    """State of one probe of one run of a container."""

    result: bool | None
    """Last result that reached its threshold; None before the first."""
    next_at: datetime | None
    """Time of the next probe; None if its outcome would be the same until something changes."""
    last: bool | None = None
    streak: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResults:
    """Results of the probes of a container at one time."""

    ready: bool = True
    started: bool = True
    # Kind of the probe for which the container is to be killed, and when it failed.
    failed: ProbeKind | None = None
    failed_at: datetime | None = None
    next_at: datetime | None = None
    notes: tuple[KubeletEvent, ...] = ()


NO_PROBES: Final = ProbeResults()


def has_probes(container: ReadOnlyObject) -> bool:
    """Return whether a container has a probe."""
    return any(name in container for name in _FIELDS.values())


@dataclass(slots=True)
class PodProber:
    """Probes of one pod; a restart of the kubelet loses it, and then the stored status counts until the next probe."""

    workers: dict[tuple[str, int, ProbeKind], ProbeWorker] = field(default_factory=dict)
    _retries: bool = False

    def retry(self) -> None:
        """Probe again, at the next sync, what was not probed any more because nothing changed."""
        self._retries = True

    def probe(
        self,
        pod: ReadOnlyObject,
        container: ReadOnlyObject,
        status: ReadOnlyObject,
        start: ContainerStart,
        now: datetime,
    ) -> ProbeResults:
        """Take the probes of a running container that are due; `start` is that of its present run."""
        if self._retries:
            self._retries = False
            for (_, _, kind), worker in self.workers.items():
                # A startup probe has succeeded for good.
                if worker.next_at is None and kind is not ProbeKind.STARTUP:
                    worker.next_at = now
        return _ContainerProber(self, pod, container, status, start, now).run()


class _ContainerProber:
    """Probes one container at one time."""

    def __init__(
        self,
        prober: PodProber,
        pod: ReadOnlyObject,
        container: ReadOnlyObject,
        status: ReadOnlyObject,
        start: ContainerStart,
        now: datetime,
    ) -> None:
        self._workers = prober.workers
        self._pod, self._container, self._status, self._start, self._now = pod, container, status, start, now
        assert start.began is not None, "only containers that have started are probed"
        self._began = start.began
        self._notes: list[KubeletEvent] = []

    def run(self) -> ProbeResults:
        """Take the startup probe, and once it has succeeded the others."""
        self._forget_earlier_runs()
        started_at: datetime | None = self._began
        results = ProbeResults()
        if "startupProbe" in self._container:
            worker = self._find_worker(ProbeKind.STARTUP, self._began, self._status.get("started", False) or None)
            started_at = self._advance(ProbeKind.STARTUP, worker, until_success=True)
            if not worker.result:
                failed = None if worker.result is None else ProbeKind.STARTUP
                results = ProbeResults(False, False, failed, started_at, worker.next_at)
                return replace(results, notes=tuple(self._notes))
        return self._run_after_start(started_at or self._began)

    def _run_after_start(self, started_at: datetime) -> ProbeResults:
        results = ProbeResults()
        if "livenessProbe" in self._container:
            worker = self._find_worker(ProbeKind.LIVENESS, started_at, True)
            changed_at = self._advance(ProbeKind.LIVENESS, worker)
            if worker.result is False:
                results = replace(results, failed=ProbeKind.LIVENESS, failed_at=changed_at)
            results = replace(results, next_at=worker.next_at)
        if "readinessProbe" in self._container:
            worker = self._find_worker(ProbeKind.READINESS, started_at, self._status.get("ready", False))
            self._advance(ProbeKind.READINESS, worker)
            times = [one for one in (results.next_at, worker.next_at) if one is not None]
            results = replace(results, ready=bool(worker.result), next_at=min(times, default=None))
        return replace(results, notes=tuple(self._notes))

    def _forget_earlier_runs(self) -> None:
        name, run = self._container["name"], self._status["restartCount"]
        for key in [one for one in self._workers if one[0] == name and one[1] != run]:
            del self._workers[key]

    def _find_worker(self, kind: ProbeKind, begins: datetime, initial: bool | None) -> ProbeWorker:
        """Return the worker of a probe; a new one starts with the result that the status has."""
        key = (self._container["name"], self._status["restartCount"], kind)
        if key not in self._workers:
            first = max(begins, self._began + timedelta(seconds=self._spec(kind).get("initialDelaySeconds") or 0))
            # After a restart of the kubelet, a container is probed as soon as it may be.
            lost = self._now - begins > timedelta(seconds=_period(self._spec(kind)))
            self._workers[key] = ProbeWorker(initial, max(first, self._now) if lost else first)
        return self._workers[key]

    def _spec(self, kind: ProbeKind) -> ReadOnlyObject:
        spec: ReadOnlyObject = self._container[_FIELDS[kind]]
        return spec

    def _advance(self, kind: ProbeKind, worker: ProbeWorker, *, until_success: bool = False) -> datetime | None:
        """Take the probes that are due; return when the result changed last."""
        changed_at: datetime | None = None
        for moment in self._due_times(kind, worker):
            before = worker.result
            self._take(kind, worker, moment)
            if worker.result != before:
                changed_at = moment
            # A failing liveness or startup probe ends the container, and a startup probe succeeds once.
            if (worker.result is False and kind is not ProbeKind.READINESS) or (until_success and worker.result):
                worker.next_at = None
                break
        return changed_at

    def _due_times(self, kind: ProbeKind, worker: ProbeWorker) -> Iterator[datetime]:
        for _ in range(PROBES_MAX):
            if worker.next_at is None or worker.next_at > self._now:
                return
            yield worker.next_at
        if worker.next_at is not None and worker.next_at <= self._now:
            worker.next_at = self._now + timedelta(seconds=_period(self._spec(kind)))

    def _take(self, kind: ProbeKind, worker: ProbeWorker, moment: datetime) -> None:
        """Take one probe."""
        # The shell interpreter is 2,000 lines that most clusters never need.
        from mockkube.shell.containers.probes import run_probe  # loaded for the first container with a probe

        spec = self._spec(kind)
        seconds = (moment - self._began).total_seconds()
        outcome = run_probe(self._pod, self._container, self._start, spec, seconds)
        name = self._container["name"]
        if not outcome.succeeded:
            text = f"{kind} probe failed: {outcome.output}"
            self._notes.append(KubeletEvent("Warning", "Unhealthy", text, name))
        elif outcome.warning:
            self._notes.append(
                KubeletEvent("Warning", "ProbeWarning", f"{kind} probe warning: {outcome.warning}", name)
            )
        worker.streak = worker.streak + 1 if worker.last == outcome.succeeded else 1
        worker.last = outcome.succeeded
        threshold = (
            spec.get("successThreshold") or 1
            if outcome.succeeded
            else spec.get("failureThreshold") or _FAILURES_DEFAULT
        )
        if worker.streak >= threshold:
            worker.result = outcome.succeeded
        worker.next_at = moment + timedelta(seconds=_period(spec))
        # A probe that has succeeded succeeds again until something changes, so there is nothing to compute.
        if outcome.succeeded and worker.result:
            worker.next_at = self._next_tick(moment, _period(spec), outcome.changes_at)

    def _next_tick(self, moment: datetime, period: int, changes_at: float | None) -> datetime | None:
        """Return the first probe at or after a time, in seconds since the start; None without one."""
        if changes_at is None:
            return None
        ahead = changes_at - (moment - self._began).total_seconds()
        return moment + timedelta(seconds=period * max(1, -int(-ahead // period)))


def _period(spec: ReadOnlyObject) -> int:
    return spec.get("periodSeconds") or _PERIOD_SECONDS_DEFAULT
