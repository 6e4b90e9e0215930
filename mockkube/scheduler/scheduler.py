"""kube-scheduler, assembled: caches, picture, queue, profiles, and the workers that move pods through them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Caches
from mockkube.client.protocol import Client
from mockkube.client.series import SeriesRecorder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import TaintRules
from mockkube.proposals.expression_metrics import ExpressionMetrics
from mockkube.proposals.lending import device_taint_rules, selector_operators, taint_rules
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.part import Context as PartContext
from mockkube.runtime.steps import Worker
from mockkube.runtime.virtual import VirtualClock
from mockkube.scheduler.binding_cycle import PARALLEL_MAX, Binder, Desk
from mockkube.scheduler.configuration import configuration as configurations
from mockkube.scheduler.configuration import profiles
from mockkube.scheduler.configuration.configuration import Configuration
from mockkube.scheduler.event_handlers import Intake, latest_in
from mockkube.scheduler.failure_handler import Failures
from mockkube.scheduler.feasible_nodes import Rotation
from mockkube.scheduler.framework.handle import ProfileHandle
from mockkube.scheduler.framework.interface import Context
from mockkube.scheduler.framework.pod_requests import RequestReader
from mockkube.scheduler.framework.runtime import Points
from mockkube.scheduler.log_buffer import LogBuffer
from mockkube.scheduler.metrics import Labels, Metrics
from mockkube.scheduler.nominator import Nominations
from mockkube.scheduler.pod_status import PodStatusWriter
from mockkube.scheduler.preemption.executor import Evictions, Tools
from mockkube.scheduler.queue.queueing_hints import Hints
from mockkube.scheduler.queue.scheduling_queue import Queue, Rules
from mockkube.scheduler.scheduling_algorithm import Decider
from mockkube.scheduler.scheduling_cycle import Cycle, Surroundings
from mockkube.scheduler.snapshot import Picture

_NAMES_NO_PREEMPTOR_SINCE: Final = Version(1, 36)
"""From this version on events about victims say which pod they make room for in their text alone."""


@dataclass(frozen=True, slots=True)
class Senses:
    """What a scheduler makes of the words in objects, with its version and gates."""

    caps: Capabilities
    requests: RequestReader
    taints: TaintRules
    expressions: ExpressionCache
    log: LogBuffer

    @classmethod
    def of(cls, caps: Capabilities, log: LogBuffer) -> "Senses":
        """Return those of a version with some gates on; `log` is where unreadable values are logged."""
        expressions = ExpressionCache()
        return cls(caps, RequestReader(caps), taint_rules(caps, expressions.expression, log.error), expressions, log)

    def context(self, client: Client, caches: Caches, picture: Picture, clock: Clock, chance: Chance) -> Context:
        """Return what plugins are built with, but for their handle."""
        return Context(
            caps=self.caps,
            clock=clock,
            client=client,
            caches=caches,
            nodes=picture,
            taints=self.taints,
            selector_operators=selector_operators(self.caps),
            device_taints=device_taint_rules(self.caps),
            log=self.log.info,
            expressions=self.expressions,
            chance=chance,
        )


class Scheduler:
    """A scheduler at one version with one set of gates. Stopped, all that it remembered is gone."""

    def __init__(self, context: PartContext[Client, Capabilities], configuration: Configuration) -> None:
        owner, client, clock, chance = context.component, context.client, context.clock, context.chance
        caps = context.capabilities
        self.configuration, self.clock, self.client = configuration, clock, client
        self._log = LogBuffer(context.log, clock)
        self.senses = Senses.of(caps, self._log)
        self.caches = Caches(client, clock, owner=owner, board=context.loops)
        self.picture = Picture(self.senses.requests)
        self.nominations = Nominations(latest_in(self.caches))
        self.metrics = Metrics()
        at_once = 1 if isinstance(clock, VirtualClock) else PARALLEL_MAX
        self._recorder = SeriesRecorder(client, clock, chance, owner=owner, at_once=at_once)
        self._handles: list[ProfileHandle] = []
        self.deciders = self._build_deciders(chance)
        self.queue = self._build_queue()
        self._workers = self._build_workers(owner, at_once=at_once)
        self._add_gauges()
        self.metrics.register(context.metrics)
        context.metrics.register(ExpressionMetrics("scheduler_toleration_cel_cache", (), self.senses.expressions))

    @property
    def workers(self) -> Sequence[Worker]:
        """The caches, the cycle, binding, evictions, events."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: the caches list and watch in their steps."""

    async def stop(self) -> None:
        """Close the watches."""
        await self.caches.close()

    def _build_deciders(self, chance: Chance) -> dict[str, Decider]:
        """Build the profiles; all search on from where any of them has ended."""
        context = self.senses.context(self.client, self.caches, self.picture, self.clock, chance)
        rotation = Rotation()
        deciders = {}
        for settings in self.configuration.profiles:
            handle = ProfileHandle()
            self._handles.append(handle)
            profile = profiles.build(settings, handle.given(context))
            points = Points(profile, self.picture, self.nominations, self.clock, self.metrics, self._log)
            handle.points, handle.recorder = points, self._recorder
            percentage = self.configuration.percentage
            deciders[profile.name] = Decider(points, chance, percentage=percentage, rotation=rotation)
        return deciders

    def _build_queue(self) -> Queue:
        asked = self.senses.caps.enabled("SchedulerQueueingHints")
        built = {name: decider.points.profile for name, decider in self.deciders.items()}
        first = next(iter(built.values()))
        hints = {name: Hints(one.refusing, self.clock, self.metrics, asked=asked) for name, one in built.items()}
        rules = Rules(
            sort_key=first.queue_sort.sort_key,
            gates={name: one.pre_enqueue for name, one in built.items()},
            hints=hints,
            backoff=self.configuration.backoff,
            pop_from_backoff=self.senses.caps.enabled("SchedulerPopFromBackoffQ"),
        )
        queue = Queue(rules, self.clock, self.metrics, self.nominations.put)
        queue.failed = lambda pod, error: self.caches.bad.fail("queue", "Pod", pod.key, error)
        return queue

    def _build_workers(self, owner: str, *, at_once: int) -> list[Worker]:
        pods = self.caches.of("Pod")
        writer = PodStatusWriter(self.client, self.senses.caps, self.clock)
        failures = Failures(pods, self.queue, self.nominations, writer, self._recorder, self.metrics, self.clock)
        nominates = self.senses.caps.enabled("NominatedNodeNameForExpectation")
        desk = Desk(
            self.picture, self.queue, failures, writer, self._recorder, self.metrics, self.clock, nominates=nominates
        )
        binder = Binder(desk, owner=owner, at_once=at_once)
        tools = Tools(
            self.client,
            pods,
            writer,
            self._recorder,
            self.nominations,
            self.metrics,
            activate=self.queue.activate,
            ask_again=self.queue.ask_again,
            call_off=binder.call_off,
            names_preemptor=self.senses.caps.version < _NAMES_NO_PREEMPTOR_SINCE,
        )
        evictions = Evictions(tools, owner=owner, at_once=at_once)
        for handle in self._handles:
            handle.evictions = evictions
        self._subscribe(binder)
        surroundings = Surroundings(
            self.caches,
            self.queue,
            self.picture,
            self.nominations,
            self.deciders,
            binder,
            evictions,
            failures,
            self._log,
            self._recorder,
            self.metrics,
            self.clock,
        )
        cycle = Cycle(surroundings, owner=owner)
        return [*self.caches.workers, cycle, binder, evictions, self._recorder]

    def _subscribe(self, binder: Binder) -> None:
        """Hear of what plugins want to hear of; they themselves heard of it before."""
        senses = self.senses
        intake = Intake(
            self.picture, self.queue, self.nominations, binder, senses.requests, senses.caps, tuple(self.deciders)
        )
        intake.subscribe(self.caches, self.queue.subjects)

    def _add_gauges(self) -> None:
        text = "Nodes, pods and assumed pods that the scheduler knows of."
        self.metrics.gauge("scheduler_cache_size", text, ("type",), self._cache_sizes)

    def _cache_sizes(self) -> Mapping[Labels, float]:
        return {(kind,): size for kind, size in self.picture.sizes.items()}


def build(context: PartContext[Client, Capabilities], configuration: Any = None) -> Scheduler:
    """Return the scheduler of a component; `configuration` is a KubeSchedulerConfiguration, decoded, or nothing.

    Raises ConfigurationError when it cannot be used.
    """
    given: ReadOnlyObject = configuration or {"apiVersion": configurations.API_VERSION, "kind": configurations.KIND}
    return Scheduler(context, configurations.read(given, context.capabilities))
