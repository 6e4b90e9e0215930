"""kube-scheduler: informers, snapshot, queue, profiles, and the workers that schedule pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import InformerFactory
from mockkube.client.protocol import Client
from mockkube.client.series import SeriesRecorder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import TaintRules
from mockkube.proposals.expression_metrics import ExpressionMetrics
from mockkube.proposals.lending import make_device_taint_rules, selector_operators, taint_rules
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.part import Context as PartContext
from mockkube.runtime.steps import Worker
from mockkube.runtime.virtual import VirtualClock
from mockkube.scheduler.binding_cycle import PARALLELISM, Binder, Desk
from mockkube.scheduler.configuration import configuration as configurations
from mockkube.scheduler.configuration import profiles
from mockkube.scheduler.configuration.configuration import Configuration
from mockkube.scheduler.event_handlers import EventHandlers, pending_pod_lister
from mockkube.scheduler.failure_handler import FailureHandler
from mockkube.scheduler.feasible_nodes import NextStartNode
from mockkube.scheduler.framework.handle import FrameworkHandle
from mockkube.scheduler.framework.interface import Context
from mockkube.scheduler.framework.pod_requests import RequestReader
from mockkube.scheduler.framework.runtime import Framework
from mockkube.scheduler.log_buffer import LogBuffer
from mockkube.scheduler.metrics import Labels, Metrics
from mockkube.scheduler.nominator import Nominator
from mockkube.scheduler.pod_status import PodStatusWriter
from mockkube.scheduler.preemption.executor import Evictions, ExecutorDependencies
from mockkube.scheduler.queue.queueing_hints import QueueingHints
from mockkube.scheduler.queue.scheduling_queue import Queue, Rules
from mockkube.scheduler.scheduling_algorithm import SchedulingAlgorithm
from mockkube.scheduler.scheduling_cycle import SchedulingCycle, Surroundings
from mockkube.scheduler.snapshot import Picture

# From this version on events about victims name the preemptor in their text only, not as related object.
_PREEMPTOR_UNRELATED_SINCE: Final = Version(1, 36)


@dataclass(frozen=True, slots=True)
class Senses:
    """Taint, selector and resource rules of one scheduler version with its gates."""

    caps: Capabilities
    requests: RequestReader
    taints: TaintRules
    expressions: ExpressionCache
    log: LogBuffer

    @classmethod
    def of(cls, caps: Capabilities, log: LogBuffer) -> "Senses":
        """Return the rules of a version and its gates; `log` receives values that cannot be parsed."""
        expressions = ExpressionCache()
        return cls(caps, RequestReader(caps), taint_rules(caps, expressions.expression, log.error), expressions, log)

    def context(
        self, client: Client, caches: InformerFactory, picture: Picture, clock: Clock, chance: Chance
    ) -> Context:
        """Return the dependencies of plugins, without their handle."""
        return Context(
            caps=self.caps,
            clock=clock,
            client=client,
            caches=caches,
            nodes=picture,
            taints=self.taints,
            selector_operators=selector_operators(self.caps),
            device_taints=make_device_taint_rules(self.caps),
            log=self.log.info,
            expressions=self.expressions,
            chance=chance,
        )


class Scheduler:
    """Scheduler at one version with one set of gates; what it remembers is lost when it stops."""

    def __init__(self, context: PartContext[Client, Capabilities], configuration: Configuration) -> None:
        owner, client, clock, random = context.component, context.client, context.clock, context.chance
        caps = context.capabilities
        self.configuration, self.clock, self.client = configuration, clock, client
        self._log = LogBuffer(context.log, clock)
        self.senses = Senses.of(caps, self._log)
        self.caches = InformerFactory(client, clock, owner=owner, board=context.loops)
        self.picture = Picture(self.senses.requests)
        self.nominations = Nominator(pending_pod_lister(self.caches))
        self.metrics = Metrics()
        # In virtual time one after the other: parallel requests would complete in an order that no seed controls.
        at_once = 1 if isinstance(clock, VirtualClock) else PARALLELISM
        self._recorder = SeriesRecorder(client, clock, random, owner=owner, at_once=at_once)
        self._handles: list[FrameworkHandle] = []
        self.deciders = self._build_algorithms(random)
        self.queue = self._build_queue()
        self._workers = self._build_workers(owner, at_once=at_once)
        self._add_gauges()
        self.metrics.register(context.metrics)
        context.metrics.register(ExpressionMetrics("scheduler_toleration_cel_cache", (), self.senses.expressions))

    @property
    def workers(self) -> Sequence[Worker]:
        """Workers for informers, scheduling cycle, binding cycle, preemption and events."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close the watches."""
        await self.caches.close()

    def _build_algorithms(self, chance: Chance) -> dict[str, SchedulingAlgorithm]:
        """Build the profiles; they share the node at which the next search starts."""
        dependencies = self.senses.context(self.client, self.caches, self.picture, self.clock, chance)
        rotation = NextStartNode()
        algorithms = {}
        for settings in self.configuration.profiles:
            handle = FrameworkHandle()
            self._handles.append(handle)
            profile = profiles.build(settings, handle.given(dependencies))
            framework = Framework(profile, self.picture, self.nominations, self.clock, self.metrics, self._log)
            handle.points, handle.recorder = framework, self._recorder
            percentage = self.configuration.percentage
            algorithms[profile.name] = SchedulingAlgorithm(framework, chance, percentage=percentage, rotation=rotation)
        return algorithms

    def _build_queue(self) -> Queue:
        hints_enabled = self.senses.caps.enabled("SchedulerQueueingHints")
        profile_by_name = {name: algorithm.points.profile for name, algorithm in self.deciders.items()}
        # All profiles have the same queue sort plugin: the configuration was validated.
        first = next(iter(profile_by_name.values()))
        hints = {
            name: QueueingHints(one.refusing, self.clock, self.metrics, asked=hints_enabled)
            for name, one in profile_by_name.items()
        }
        config = Rules(
            sort_key=first.queue_sort.sort_key,
            gates={name: one.pre_enqueue for name, one in profile_by_name.items()},
            hints=hints,
            backoff=self.configuration.backoff,
            pop_from_backoff=self.senses.caps.enabled("SchedulerPopFromBackoffQ"),
        )
        queue = Queue(config, self.clock, self.metrics, self.nominations.put)
        queue.failed = lambda pod, error: self.caches.bad.fail("queue", "Pod", pod.key, error)
        return queue

    def _build_workers(self, owner: str, *, at_once: int) -> list[Worker]:
        pods = self.caches.of("Pod")
        writer = PodStatusWriter(self.client, self.senses.caps, self.clock)
        failure_handler = FailureHandler(
            pods, self.queue, self.nominations, writer, self._recorder, self.metrics, self.clock
        )
        nominates = self.senses.caps.enabled("NominatedNodeNameForExpectation")
        binding_dependencies = Desk(
            self.picture,
            self.queue,
            failure_handler,
            writer,
            self._recorder,
            self.metrics,
            self.clock,
            nominates=nominates,
        )
        binding_cycle = Binder(binding_dependencies, owner=owner, at_once=at_once)
        executor_dependencies = ExecutorDependencies(
            self.client,
            pods,
            writer,
            self._recorder,
            self.nominations,
            self.metrics,
            activate=self.queue.activate,
            ask_again=self.queue.ask_again,
            call_off=binding_cycle.call_off,
            relate_events_to_preemptor=self.senses.caps.version < _PREEMPTOR_UNRELATED_SINCE,
        )
        preemption_executor = Evictions(executor_dependencies, owner=owner, at_once=at_once)
        for handle in self._handles:
            handle.evictions = preemption_executor
        self._register_event_handlers(binding_cycle)
        dependencies = Surroundings(
            self.caches,
            self.queue,
            self.picture,
            self.nominations,
            self.deciders,
            binding_cycle,
            preemption_executor,
            failure_handler,
            self._log,
            self._recorder,
            self.metrics,
            self.clock,
        )
        cycle = SchedulingCycle(dependencies, owner=owner)
        return [*self.caches.workers, cycle, binding_cycle, preemption_executor, self._recorder]

    def _register_event_handlers(self, binder: Binder) -> None:
        """Subscribe to what plugins register for.

        Plugins subscribed to their informers when they were built, so their own state is updated before hints run.
        """
        semantics = self.senses
        event_handlers = EventHandlers(
            self.picture, self.queue, self.nominations, binder, semantics.requests, semantics.caps, tuple(self.deciders)
        )
        event_handlers.subscribe(self.caches, self.queue.subjects)

    def _add_gauges(self) -> None:
        text = "Nodes, pods and assumed pods that the scheduler knows of."
        self.metrics.add_gauge("scheduler_cache_size", text, ("type",), self._cache_sizes)

    def _cache_sizes(self) -> Mapping[Labels, float]:
        return {(kind,): size for kind, size in self.picture.sizes.items()}


def build(context: PartContext[Client, Capabilities], configuration: Any = None) -> Scheduler:
    """Return the scheduler of a component; `configuration` is a decoded KubeSchedulerConfiguration, or None.

    Raises SchedulerConfigurationError for an invalid one.
    """
    document: ReadOnlyObject = configuration or {"apiVersion": configurations.API_VERSION, "kind": configurations.KIND}
    return Scheduler(context, configurations.read(document, context.capabilities))
