"""Base class of controllers: receives keys, reads current state, acts, returns when to run again.

`reconcile` can rely on this: before the first call all informers have synced; it runs for one key at a time; a key is
reconciled again after each change of an object that the controller watches. It is not told which change that was.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Set
from dataclasses import field
from typing import ClassVar, Final

from prometheus_client import CollectorRegistry

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.bad_objects import find_suspects
from mockkube.client.deleted_objects import DeletedObjects
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.filtered_informer import FilteredInformer
from mockkube.client.informer import EventHandler, Informer, InformerFactory, ObjectChange
from mockkube.client.protocol import EVERYTHING, Client, Key, Selection, key_of
from mockkube.client.rate_limited_client import RateLimitedClient
from mockkube.controllers.framework.hot_loops import HotLoopDetector
from mockkube.controllers.framework.options import Options
from mockkube.controllers.framework.queue_metrics import QueueMetrics
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import TaintRules
from mockkube.proposals.component_extensions import make_taint_rules
from mockkube.proposals.expression_metrics import make_measured_cache
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.random import Random
from mockkube.runtime.rate_limiters import BucketRateLimiter, RateLimiter, default_controller_rate_limiter
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

# The key of controllers that process all objects in one pass, periodically.
RESYNC: Final = Key("", "")


@dataclass(frozen=True, slots=True)
class Done:
    """Result: nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """Result: requeue the key after so many seconds, or without a number when its rate limit allows."""

    after: float | None = None


DONE: Final = Done()
ReconcileResult = Done | Requeue


class EventRecorders:
    """Event recorders of a controller manager, one per event source; queues of one controller share it."""

    def __init__(self, clock: Clock, random: Random, owner: str) -> None:
        self._clock, self._chance, self._owner = clock, random, owner
        self._recorders: dict[str, EventRecorder] = {}
        self.deleted_objects = DeletedObjects(self._forget_objects)

    def _forget_objects(self, uid_digests: Set[bytes]) -> None:
        for recorder in self._recorders.values():
            recorder.forget_objects(uid_digests)

    def get(self, source: str, client: Client) -> EventRecorder:
        """Return the recorder of a source; it writes through the client of the first caller."""
        recorder = self._recorders.get(source)
        if recorder is None:
            owner = f"{self._owner}/{source}"
            recorder = EventRecorder(client, self._clock, self._chance, component=source, owner=owner)
            self._recorders[source] = recorder
        return recorder

    @property
    def workers(self) -> list[EventRecorder]:
        """Event recorders, as workers."""
        return list(self._recorders.values())


@dataclass(frozen=True, slots=True)
class ControllerDependencies:
    """Dependencies that all controllers of one controller manager share."""

    component: str
    client: Client
    informers: InformerFactory
    clock: Clock
    random: Random
    capabilities: Capabilities
    options: Options
    metrics: CollectorRegistry
    queue_metrics: QueueMetrics
    hot_loops: HotLoopDetector
    recorders: EventRecorders
    resource_monitors: ResourceMonitors
    log: ComponentLog = field(default_factory=ComponentLog)

    def taint_rules(self, controller: str) -> TaintRules:
        """Return the toleration rules for a controller, with its own cache of compiled expressions."""
        cache = make_measured_cache(self.metrics, "controller_toleration_cel_cache", controller=controller)
        return make_taint_rules(
            self.capabilities, cache.compile_expression, self.log.error_logger(self.clock.monotonic)
        )


class Controller(ABC):
    """One reconciler with its queue of keys.

    A subclass creates its informers and event handlers in `__init__`. It keeps no state that a restart would miss,
    unless upstream's controller loses the same state.
    """

    # Name in `--controllers`.
    name: ClassVar[str]
    # Source of its events; empty for the name.
    event_source: ClassVar[str] = ""
    # Name of its queue in metrics; empty for the name.
    queue_name: ClassVar[str] = ""
    # Failures in a row after which a key is dropped until something changes; None retries for ever.
    retries_max: ClassVar[int | None] = None

    # Factor on the request rate, for controllers whose upstream client has a higher limit.
    rate_factor: ClassVar[float] = 1.0

    def __init__(self, dependencies: ControllerDependencies) -> None:
        self.dependencies, self.clock, self.hot_loops = dependencies, dependencies.clock, dependencies.hot_loops
        options = dependencies.options
        burst = int(options.requests_burst * self.rate_factor)
        bucket = BucketRateLimiter(self.clock, options.requests_per_second * self.rate_factor, burst)
        self.client = RateLimitedClient(
            dependencies.client, self.clock, bucket if options.requests_per_second else None
        )
        self.events = dependencies.recorders.get(self.event_source or self.name, self.client)
        observer = dependencies.queue_metrics.observer_for(self.queue_name or self.name)
        self.work_queue: WorkQueue[Key] = WorkQueue(self.clock, self.rate_limiter(), observer=observer)
        # Informers that must sync before the first key.
        self.informers: list[Informer] = []
        self._filtered_informers: dict[tuple[str, Selection], FilteredInformer] = {}

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed keys."""
        return default_controller_rate_limiter(self.clock)

    def informer(self, kind: str, selection: Selection = EVERYTHING) -> Informer:
        """Return the informer of a kind, without objects this controller failed on; for `__init__` only."""
        cache = self.dependencies.informers.informer_for(kind, selection)
        if cache not in self.informers:
            self.informers.append(cache)
        filtered = self._filtered_informers.get((kind, selection))
        if filtered is None:
            filtered = self._filtered_informers[kind, selection] = FilteredInformer(
                cache, self.dependencies.informers.bad
            )
        return filtered

    def hide_culprit(self, key: Key, error: Exception) -> bool:
        """Skip the object that most likely made a key fail; False if it is the key's own, or unknown.

        Objects that the key's object controls are its own too: without its pods in sight a set would create others.
        """
        return any(self.hide_bad_object(obj, error) for obj in find_suspects(error, lambda obj: _is_own(key, obj)))

    def hide_bad_object(self, obj: ReadOnlyObject, error: Exception) -> bool:
        """Hide an object from this controller until it changes; False if no informer has it."""
        filtered_informers = (filtered for filtered in self._filtered_informers.values() if filtered.is_cached(obj))
        return any(filtered.hide(obj, self.name, error) for filtered in filtered_informers)

    def watched_informer(self, kind: str, handler: EventHandler | None = None) -> Informer:
        """Return the informer of a kind; its changes go to the handler, or queue the object's own key."""
        cache = self.informer(kind)
        cache.add_event_handler(handler or self.enqueue_changed)
        return cache

    def enqueue_changed(self, change: ObjectChange) -> None:
        """Queue the key of an object that changed."""
        self.work_queue.add(key_of(change.object))

    def has_synced(self) -> bool:
        """Return whether all informers have synced."""
        return all(cache.has_synced for cache in self.informers)

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify the signal when something other than the informers has synced; nothing by default."""
        return

    def list_memory(self) -> Iterable[tuple[Hashable, float]]:
        """Return what later decisions depend on and no object has, each with the seconds since; none by default."""
        return ()

    def list_backoffs(self) -> Iterable[tuple[Hashable, float, float]]:
        """Return what backs off besides failed keys: seconds left, and seconds after the next failure."""
        return ()

    @abstractmethod
    async def reconcile(self, key: Key) -> ReconcileResult:
        """Bring the object of a key to its desired state; errors are retried with backoff."""


def _is_own(key: Key, obj: ReadOnlyObject) -> bool:
    metadata = obj["metadata"]
    if metadata.get("namespace", "") != key.namespace:
        return False
    owners = metadata.get("ownerReferences")
    # This runs on objects that may be malformed, so no shape is taken for granted. Names suffice: uids may be missing.
    named = [one.get("name") for one in owners if isinstance(one, dict)] if isinstance(owners, list) else []
    return key.name == metadata.get("name") or key.name in named
