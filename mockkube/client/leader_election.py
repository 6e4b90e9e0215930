"""Leader election: of several candidates one holds a Lease, renews it, and works meanwhile.

upstream 1.36: staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go, resourcelock/leaselock.go
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_micro_time
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Client, Key, Selection, WatchEventType
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal, Worker

LEASE_NAMESPACE: Final = "kube-system"
LEASE_SECONDS: Final = 15.0
RENEW_DEADLINE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0
LEASES: Final = "leases"
# Candidates wait up to this factor longer than the retry period, so that they do not all try in the same moment.
JITTER_FACTOR: Final = 1.2
# How long giving up one Lease may take; other candidates then wait until it expires. A process has up to three, and
# must end within a second.
RELEASE_SECONDS_MAX: Final = 0.3

_KIND: Final = "Lease"
_LOG: Final = logging.getLogger("mockkube.client")


@dataclass(frozen=True, slots=True)
class LeaderElectionConfig:
    """Lease of a leader election, and its timing."""

    name: str
    namespace: str = LEASE_NAMESPACE
    lease_seconds: float = LEASE_SECONDS
    """How long other candidates wait after they have seen the last renewal."""
    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    """How long the leader works without a renewal."""
    retry_seconds: float = RETRY_SECONDS

    @property
    def key(self) -> Key:
        """Key of the Lease."""
        return Key(self.namespace, self.name)

    def find_errors(self) -> Iterator[str]:
        """Yield what is wrong with the timing, under the names of upstream's flags."""
        # upstream 1.36: component-base/config/validation/validation.go, and NewLeaderElector
        for flag, seconds in (
            ("lease-duration", self.lease_seconds),
            ("renew-deadline", self.renew_deadline_seconds),
            ("retry-period", self.retry_seconds),
        ):
            if seconds <= 0:
                yield f"leader-elect-{flag} must be greater than zero"
        # A Lease holds whole seconds, by which the other candidates count.
        if int(self.lease_seconds) <= self.renew_deadline_seconds:
            yield "leader-elect-lease-duration must be greater than leader-elect-renew-deadline"
        if self.renew_deadline_seconds <= self.retry_seconds * JITTER_FACTOR:
            yield f"leader-elect-renew-deadline must be greater than leader-elect-retry-period times {JITTER_FACTOR}"


def make_holder_identity(host: str, random: Random) -> str:
    """Return the identity of a candidate: host and a uid, so that two processes of one host differ."""
    return f"{host}_{random.new_uid()}"


class LeaderElector:
    """Worker that acquires the Lease and renews it, one request after the other.

    A candidate counts the time since it has seen a renewal on its own clock, so clocks of hosts may differ. It leads
    until `renew_deadline_seconds` after it sent the last successful renewal. The others wait longer than that, so the
    end of `is_leading` comes before another candidate leads, whatever happens to requests meanwhile.

    differs: upstream only reads the Lease at each try. Here an informer watches it besides, so a candidate sees a
    renewal when it happens, and tries when the Lease expires or is released. Tries read the Lease all the same: late
    events delay a candidate, and never let it lead too early.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        random: Random,
        config: LeaderElectionConfig,
        *,
        identity: str,
        owner: str,
        recorder: EventRecorder | None = None,
    ) -> None:
        """Record events with `recorder`, which becomes one of the workers."""
        self.name = f"{owner}/leader-election"
        self.signal = Signal()
        self.config, self.identity = config, identity
        # Called when this candidate begins or ceases to lead, and when another one is seen to hold the Lease.
        self.on_changed: Callable[[], None] = lambda: None
        # How often this candidate has begun to lead.
        self.term = 0
        # Renewals that had to read the Lease first.
        self.slow_renewals = 0
        self._client, self._clock, self._random, self._recorder = client, clock, random, recorder
        # The Lease as read or written last, and when it was seen to change.
        self._lease: ReadOnlyObject | None = None
        self._observed_at = 0.0
        # When the last successful renewal was sent; None while this candidate does not lead.
        self._renewed_at: float | None = None
        self._next_try_at = clock.monotonic()
        # Whether the Lease was seen to be released since the last try began.
        self._saw_release = False
        selection = Selection(config.namespace, fields=f"metadata.name={config.name}")
        self._informer = Informer(client, _KIND, clock, selection=selection, owner=self.name)
        self._informer.add_event_handler(self._handle_change)
        self._deadline_worker = RenewDeadlineWorker(
            f"{self.name}/deadline", clock, lambda: self.renew_deadline, self.stop_leading
        )

    @property
    def workers(self) -> Sequence[Worker]:
        """The elector, its informer, the worker that watches the renew deadline, and the recorder of events."""
        return (self, self._informer, self._deadline_worker, *([] if self._recorder is None else [self._recorder]))

    @property
    def is_leading(self) -> bool:
        """True from the acquisition of the Lease until the renew deadline."""
        deadline = self.renew_deadline
        return deadline is not None and self._clock.monotonic() < deadline

    @property
    def renew_deadline(self) -> float | None:
        """Time until which this candidate leads without another renewal; None if it does not lead."""
        return None if self._renewed_at is None else self._renewed_at + self.config.renew_deadline_seconds

    @property
    def holder(self) -> str:
        """Identity of the holder of the Lease as seen last; empty if there is none."""
        identity: str = self._spec.get("holderIdentity") or ""
        return identity

    @property
    def _spec(self) -> ReadOnlyObject:
        spec: ReadOnlyObject = (self._lease or {}).get("spec") or {}
        return spec

    def register_metrics(self, metrics: CollectorRegistry) -> None:
        """Register the metrics of the election, under upstream's names."""
        metrics.register(_ElectionMetrics(self))

    def is_ready(self) -> bool:
        """Return whether the next try is due."""
        return self._clock.monotonic() >= self._next_try_at

    def wake_at(self) -> float | None:
        """Return when the next try is due."""
        return self._next_try_at

    async def step(self) -> None:
        """Try once to acquire or renew the Lease."""
        sent_at, holder = self._clock.monotonic(), self.holder
        self._saw_release = False
        renewed = await self._try_acquire_or_renew(sent_at)
        # An answer that comes after the deadline is too late: the others may count from an earlier moment.
        if renewed and self._clock.monotonic() < sent_at + self.config.renew_deadline_seconds:
            self._lead(sent_at)
        # differs: upstream leads until the deadline although it sees that another one holds the Lease
        elif self._renewed_at is not None and self.holder != self.identity:
            self.stop_leading()
        self._next_try_at = self._find_next_try()
        self._report_holder(holder)

    def _handle_change(self, change: ObjectChange) -> None:
        """Take note of an event about the Lease."""
        if change.type is WatchEventType.DELETED or not self._is_newer(change.object):
            return
        holder = self.holder
        self._observe(change.object)
        if self._renewed_at is not None:
            if self.holder != self.identity:
                self.stop_leading()
        elif not self.holder:
            self._saw_release = True
            self._next_try_at = self._clock.monotonic()
            self.signal.notify()
        self._report_holder(holder)

    def _is_newer(self, lease: ReadOnlyObject) -> bool:
        """Return whether a Lease is newer than the one read or written last; False if that is unknown."""
        if self._lease is None:
            return True
        version, known = (str(one["metadata"].get("resourceVersion")) for one in (lease, self._lease))
        # A server may have other versions than whole numbers; then only tries read the Lease.
        return version.isdecimal() and known.isdecimal() and int(version) > int(known)

    def _report_holder(self, holder_before: str) -> None:
        if self.holder == holder_before:
            return
        if self.holder not in ("", self.identity):
            _LOG.info("%s: %s holds the Lease", self.name, self.holder)
        self.on_changed()

    def _lead(self, sent_at: float) -> None:
        began, self._renewed_at = self._renewed_at is None, sent_at
        if began:
            self.term += 1
            _LOG.info("%s: %s leads", self.name, self.identity)
            self._record_event("became leader")
            self._deadline_worker.signal.notify()
            self.on_changed()

    def stop_leading(self) -> None:
        """Cease to lead; the Lease stays until it expires, or until `release`."""
        if self._renewed_at is not None:
            _LOG.warning("%s: %s lost the Lease", self.name, self.identity)
            self._end_term()

    def _end_term(self) -> None:
        self._renewed_at = None
        self._record_event("stopped leading")
        self.on_changed()

    def _find_next_try(self) -> float:
        now, retry_seconds = self._clock.monotonic(), self.config.retry_seconds
        if self._renewed_at is not None:
            return now + retry_seconds
        if self._saw_release:
            return now
        jittered = now + retry_seconds * (1 + JITTER_FACTOR * self._random.generator.random())
        # differs: upstream tries only at intervals; here also at the moment when the Lease expires
        expires_at = self._expires_at
        return min(jittered, expires_at) if self.holder and expires_at > now else jittered

    @property
    def _expires_at(self) -> float:
        return self._observed_at + float(self._spec.get("leaseDurationSeconds") or 0)

    async def _try_acquire_or_renew(self, now: float) -> bool:
        """Return whether the Lease was acquired or renewed."""
        if self.holder == self.identity and now < self._expires_at:
            # No read first: the Lease is most likely as it was written last.
            try:
                await self._update()
                return True
            except ApiError as error:
                _LOG.info("%s: %s: reading the Lease again", self.name, error)
        known = self._lease
        try:
            lease = await self._client.get(_KIND, self.config.key)
        except NotFound:
            return await self._try_create()
        except ApiError as error:
            self._log_failure(error)
            return False
        # An event that arrived meanwhile may be newer than the answer.
        if self._lease is known or self._is_newer(lease):
            self._observe(lease)
        if self.holder not in ("", self.identity) and now < self._expires_at:
            return False
        if self.holder == self.identity:
            self.slow_renewals += 1
        try:
            await self._update()
        except ApiError as error:
            self._log_failure(error)
            return False
        return True

    async def _try_create(self) -> bool:
        self._lease = None
        metadata = {"name": self.config.name, "namespace": self.config.namespace}
        lease: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": _KIND, "metadata": metadata}
        try:
            stored = await self._client.create(_KIND, {**lease, "spec": self._make_spec(transitions=0)})
        except ApiError as error:
            self._log_failure(error)
            return False
        self._observe(stored)
        return True

    async def _update(self) -> None:
        """Write this candidate as holder, if the Lease is still as it was read or written last."""
        assert self._lease is not None, "it was read or written before"
        transitions = int(self._spec.get("leaseTransitions") or 0)
        if self.holder == self.identity:
            spec = self._make_spec(transitions=transitions, acquired=self._spec.get("acquireTime"))
        else:
            spec = self._make_spec(transitions=transitions + 1)
        self._observe(await self._client.update(_KIND, {**self._lease, "spec": spec}))

    def _make_spec(self, *, transitions: int, acquired: str | None = None) -> Object:
        now = render_micro_time(self._clock.now())
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.config.lease_seconds),
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _observe(self, lease: ReadOnlyObject) -> None:
        """Remember the Lease, and when it changed."""
        changed = self._lease is None or lease.get("spec") != self._lease.get("spec")
        self._lease = lease
        if changed:
            self._observed_at = self._clock.monotonic()

    def _log_failure(self, error: ApiError) -> None:
        # A standby that fails has nothing to lose.
        level = logging.INFO if self._renewed_at is None else logging.WARNING
        _LOG.log(level, "%s: %s; next try in %.0f s", self.name, error, self.config.retry_seconds)

    def _record_event(self, text: str) -> None:
        if self._recorder is not None and self._lease is not None:
            self._recorder.record(self._lease, NORMAL, "LeaderElection", f"{self.identity} {text}")

    async def release(self) -> None:
        """Give the Lease up, so that another candidate need not wait; nothing may work under it any more."""
        if self._renewed_at is not None:
            self._end_term()
        await self._informer.close()
        try:
            async with asyncio.timeout(RELEASE_SECONDS_MAX):
                lease = await self._client.get(_KIND, self.config.key)
                if (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                    transitions = int(lease["spec"].get("leaseTransitions") or 0)
                    released = {**self._make_spec(transitions=transitions), "leaseDurationSeconds": 1}
                    released["holderIdentity"] = ""
                    self._observe(await self._client.update(_KIND, {**lease, "spec": released}))
        except (ApiError, TimeoutError) as error:
            _LOG.info("%s: the Lease is not released: %s", self.name, error or type(error).__name__)


class RenewDeadlineWorker:
    """Worker that gives up what a Lease allows at the renew deadline, also while a renewal waits for its answer."""

    def __init__(
        self, name: str, clock: Clock, find_deadline: Callable[[], float | None], give_up: Callable[[], None]
    ) -> None:
        """Call `give_up` at the deadline, which moves; None while nothing is held. Notify `signal` when it begins."""
        self.name = name
        self.signal = Signal()
        self._clock, self._find_deadline, self._give_up = clock, find_deadline, give_up

    def is_ready(self) -> bool:
        """Return whether the deadline is over."""
        deadline = self._find_deadline()
        return deadline is not None and deadline <= self._clock.monotonic()

    def wake_at(self) -> float | None:
        """Return the deadline."""
        return self._find_deadline()

    async def step(self) -> None:
        """Give up what the Lease allows."""
        self._give_up()


class _ElectionMetrics(Collector):
    """Metrics of one elector."""

    # upstream 1.36: component-base/metrics/prometheus/clientgo/leaderelection/metrics.go
    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector

    def collect(self) -> Iterator[Metric]:
        """Yield whether the candidate leads, and how many renewals had to read the Lease first."""
        name = self._elector.config.name
        status = GaugeMetricFamily(
            "leader_election_master_status",
            "1 if this process holds the Lease, 0 if it is a standby.",
            labels=("name",),
        )
        status.add_metric((name,), float(self._elector.is_leading))
        slow = CounterMetricFamily(
            "leader_election_slowpath", "Renewals that had to read the Lease first.", labels=("name",)
        )
        slow.add_metric((name,), self._elector.slow_renewals)
        yield from (status, slow)


def create_component_elector(
    client: Client, clock: Clock, random: Random, config: LeaderElectionConfig, *, component: str, host: str
) -> LeaderElector:
    """Return the elector of a component, which records its events as upstream's component does."""
    # upstream 1.36: cmd/kube-scheduler/app/options/options.go uses the name of the first profile's scheduler
    source = "default-scheduler" if component == "kube-scheduler" else component
    recorder = EventRecorder(client, clock, random, component=source, owner=f"{component}/leader-election")
    identity = make_holder_identity(host, random)
    return LeaderElector(client, clock, random, config, identity=identity, owner=component, recorder=recorder)
