"""A controller: told the key of an object, it reads the present, acts, and says when to come back.

Of what `reconcile` may count on: its caches hold all there was at some moment before the first call; it is called for
one key at a time; a key is called for again after each change of what feeds it. It is not told which change that was.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Final

from prometheus_client import CollectorRegistry

from mockkube.api.types import ReadOnlyObject
from mockkube.client.bad_objects import suspects
from mockkube.client.cache import Caches, Change, Handler, ListWatch
from mockkube.client.protocol import EVERYTHING, Client, Key, Selection, key_of
from mockkube.client.recorder import EventRecorder
from mockkube.client.screened import Screened
from mockkube.controllers.framework.hot_loops import Loops
from mockkube.controllers.framework.queue_metrics import QueueMetrics
from mockkube.controllers.framework.rate_limited_client import Throttled
from mockkube.controllers.garbagecollector.monitors import EveryKind
from mockkube.controllers.options import Options
from mockkube.features.capabilities import Capabilities
from mockkube.matching.taints import TaintRules
from mockkube.proposals.expression_metrics import measured_cache
from mockkube.proposals.lending import taint_rules
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.rate_limits import RateLimiter, TokenBucket, controller_limits
from mockkube.runtime.steps import Bell
from mockkube.runtime.work_queue import WorkQueue

SWEEP: Final = Key("", "")
"""The key of a controller that looks at everything at once, now and then."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more to do until something changes."""


@dataclass(frozen=True, slots=True)
class Again:
    """Come back: after so many seconds, or, without a number, when the rate limits of the key allow."""

    after: float | None = None


DONE: Final = Done()
Outcome = Done | Again


class Recorders:
    """The voices of a controller manager: one per source of events, whichever of its queues speaks."""

    def __init__(self, clock: Clock, chance: Chance, owner: str) -> None:
        self._clock, self._chance, self._owner = clock, chance, owner
        self._recorders: dict[str, EventRecorder] = {}

    def of(self, source: str, client: Client) -> EventRecorder:
        """Return the recorder of a source; it writes through the client of whoever asks first."""
        recorder = self._recorders.get(source)
        if recorder is None:
            owner = f"{self._owner}/{source}"
            recorder = EventRecorder(client, self._clock, self._chance, component=source, owner=owner)
            self._recorders[source] = recorder
        return recorder

    @property
    def workers(self) -> list[EventRecorder]:
        """The recorders, as workers."""
        return list(self._recorders.values())


@dataclass(frozen=True, slots=True)
class Setting:
    """What all controllers of one controller manager share."""

    component: str
    client: Client
    caches: Caches
    clock: Clock
    chance: Chance
    capabilities: Capabilities
    options: Options
    metrics: CollectorRegistry
    queue_metrics: QueueMetrics
    loops: Loops
    recorders: Recorders
    every_kind: EveryKind
    log: ComponentLog = field(default_factory=ComponentLog)

    def taint_rules(self, controller: str) -> TaintRules:
        """Return what a controller makes of tolerations, with a cache of compiled expressions of its own."""
        cache = measured_cache(self.metrics, "controller_toleration_cel_cache", controller=controller)
        return taint_rules(self.capabilities, cache.expression, self.log.errors(self.clock.monotonic))


class Controller(ABC):
    """One reconciler with its queue of keys.

    A subclass says in `__init__` which caches it reads and which of their changes feed which keys; it never keeps what
    a restart would miss, unless a restart of the real one misses it too.
    """

    name: ClassVar[str]
    """As `--controllers` knows it."""
    source: ClassVar[str] = ""
    """Who its events come from; the name when empty."""
    queue: ClassVar[str] = ""
    """What its queue is called in metrics; the name when empty."""
    retries_max: ClassVar[int | None] = None
    """After how many failures in a row it gives a key up until something changes."""

    pace: ClassVar[float] = 1.0
    """How many times faster than others it may ask the API server."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.clock, self.loops = setting, setting.clock, setting.loops
        options = setting.options
        burst = int(options.requests_burst * self.pace)
        bucket = TokenBucket(self.clock, options.requests_per_second * self.pace, burst)
        self.client = Throttled(setting.client, self.clock, bucket if options.requests_per_second else None)
        self.events = setting.recorders.of(self.source or self.name, self.client)
        observer = setting.queue_metrics.of(self.queue or self.name)
        self.keys: WorkQueue[Key] = WorkQueue(self.clock, self.limits(), observer=observer)
        self.caches: list[ListWatch] = []
        """What it waits for before its first key."""
        self._screens: dict[tuple[str, Selection], Screened] = {}

    def limits(self) -> RateLimiter:
        """Return how long a key that failed waits."""
        return controller_limits(self.clock)

    def cache(self, kind: str, selection: Selection = EVERYTHING) -> ListWatch:
        """Return the cache of a kind, without what this controller has failed on; asked for in `__init__` only."""
        cache = self.setting.caches.of(kind, selection)
        if cache not in self.caches:
            self.caches.append(cache)
        screen = self._screens.get((kind, selection))
        if screen is None:
            screen = self._screens[kind, selection] = Screened(cache, self.setting.caches.bad)
        return screen

    def blame(self, key: Key, error: Exception) -> bool:
        """Pass over the object that most probably made a key fail; False if that is the key's own, or none.

        What the key's object controls is its own too: who could not see its pods would make others in their place.
        """
        return any(self.pass_over(obj, error) for obj in suspects(error, lambda obj: _is_own(key, obj)))

    def pass_over(self, obj: ReadOnlyObject, error: Exception) -> bool:
        """Act as if an object were not there until it changes; False if it is in none of the caches."""
        screens = (screen for screen in self._screens.values() if screen.holds(obj))
        return any(screen.hide(obj, self.name, error) for screen in screens)

    def follow(self, kind: str, handler: Handler | None = None) -> ListWatch:
        """Return the cache of a kind whose changes feed the keys: its objects' own unless a handler says else."""
        cache = self.cache(kind)
        cache.subscribe(handler or self.enqueue_changed)
        return cache

    def enqueue_changed(self, change: Change) -> None:
        """Look at an object that changed."""
        self.keys.add(key_of(change.object))

    def synced(self) -> bool:
        """Whether all it decides from holds what there was at some moment."""
        return all(cache.synced for cache in self.caches)

    def tell_synced(self, bell: Bell) -> None:
        """Ring the bell once it may be synced by something else than its caches."""
        return

    @abstractmethod
    async def reconcile(self, key: Key) -> Outcome:
        """Bring the object of a key to what it should be; what is raised is retried under the rate limits."""


def _is_own(key: Key, obj: ReadOnlyObject) -> bool:
    metadata = obj["metadata"]
    if metadata.get("namespace", "") != key.namespace:
        return False
    owners = metadata.get("ownerReferences")
    named = [one.get("name") for one in owners if isinstance(one, dict)] if isinstance(owners, list) else []
    return key.name == metadata.get("name") or key.name in named
