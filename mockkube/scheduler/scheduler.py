"""kube-scheduler: informers, cache, queue, profiles, and the workers that schedule pods."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Client
from mockkube.client.rate_limited_client import RateLimitedClient, RateLimitedWorker
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import TaintRules
from mockkube.proposals.component_extensions import make_device_taint_rules, make_selector_operators, make_taint_rules
from mockkube.proposals.expression_metrics import ExpressionMetrics
from mockkube.runtime.clock import Clock
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.rate_limiters import BucketRateLimiter
from mockkube.runtime.steps import Worker
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.configuration import kube_scheduler_configuration as configurations
from mockkube.scheduler.configuration.kube_scheduler_configuration import ClientLimits, Configuration
from mockkube.scheduler.cycle.binding_cycle import PARALLELISM, BindingCycle, BindingDependencies
from mockkube.scheduler.cycle.event_handlers import EventHandlers, pending_pod_lister
from mockkube.scheduler.cycle.failure_handler import FailureHandler
from mockkube.scheduler.cycle.feasible_nodes import NextStartNode
from mockkube.scheduler.cycle.scheduling_algorithm import SchedulingAlgorithm
from mockkube.scheduler.cycle.scheduling_cycle import SchedulingCycle, SchedulingCycleDependencies
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.interface import PluginDependencies
from mockkube.scheduler.framework.log_buffer import LogBuffer
from mockkube.scheduler.framework.metrics import Labels, SchedulerMetrics
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.pod_status_writer import PodStatusWriter
from mockkube.scheduler.preemption.executor import ExecutorDependencies, PreemptionExecutor
from mockkube.scheduler.profile import profiles
from mockkube.scheduler.profile.framework import Framework
from mockkube.scheduler.profile.framework_handle import FrameworkHandle
from mockkube.scheduler.queue.nominator import Nominator
from mockkube.scheduler.queue.queueing_hints import QueueingHints
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue, SchedulingQueueConfig

# From this version on events about victims name the preemptor in their text only, not as related object.
_EVENT_WITHOUT_PREEMPTOR_SINCE: Final = Version(1, 36)


@dataclass(frozen=True, slots=True)
class SchedulerSemantics:
    """Taint, selector and resource rules of one scheduler version with its gates."""

    caps: Capabilities
    requests: PodRequestCalculator
    taints: TaintRules
    expressions: ExpressionCache
    log: LogBuffer

    @classmethod
    def from_capabilities(cls, caps: Capabilities, log: LogBuffer) -> "SchedulerSemantics":
        """Return the rules of a version and its gates; `log` receives values that cannot be parsed."""
        expressions = ExpressionCache()
        return cls(
            caps,
            PodRequestCalculator(caps),
            make_taint_rules(caps, expressions.compile_expression, log.error),
            expressions,
            log,
        )

    def plugin_dependencies(
        self, client: Client, informers: InformerFactory, cache: Cache, clock: Clock, random: Random
    ) -> PluginDependencies:
        """Return the dependencies of plugins, without their handle."""
        return PluginDependencies(
            caps=self.caps,
            clock=clock,
            client=client,
            informers=informers,
            nodes=cache,
            taints=self.taints,
            selector_operators=make_selector_operators(self.caps),
            device_taints=make_device_taint_rules(self.caps),
            log=self.log.info,
            expressions=self.expressions,
            random=random,
        )


class Scheduler:
    """Scheduler at one version with one set of gates; what it remembers is lost when it stops."""

    def __init__(self, dependencies: ComponentDependencies[Client, Capabilities], configuration: Configuration) -> None:
        owner, client, clock, random = (
            dependencies.component,
            dependencies.client,
            dependencies.clock,
            dependencies.random,
        )
        caps = dependencies.capabilities
        self.configuration, self.clock = configuration, clock
        # Requests of informers and events are not limited.
        self.client = _limit_client(client, clock, configuration)
        self._tracer = dependencies.tracer
        self._log = LogBuffer(dependencies.log, clock)
        self.semantics = SchedulerSemantics.from_capabilities(caps, self._log)
        self.informers = InformerFactory(client, clock, owner=owner, hot_loops=dependencies.hot_loops)
        self.cache = Cache(self.semantics.requests)
        self.nominator = Nominator(pending_pod_lister(self.informers))
        self.metrics = SchedulerMetrics()
        # In virtual time one after the other: parallel requests would complete in an order that no seed controls.
        at_once = 1 if isinstance(clock, VirtualClock) else PARALLELISM
        self._recorder = SeriesRecorder(client, clock, random, owner=owner, batch_size=at_once)
        self._handles: list[FrameworkHandle] = []
        self.algorithms = self._build_algorithms(random)
        self.queue = self._build_queue()
        self._workers = self._build_workers(owner, at_once=at_once)
        self._add_gauges()
        self.metrics.register(dependencies.metrics)
        dependencies.metrics.register(
            ExpressionMetrics("scheduler_toleration_cel_cache", (), self.semantics.expressions)
        )

    @property
    def workers(self) -> Sequence[Worker]:
        """Workers for informers, scheduling cycle, binding cycle, preemption and events."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close the watches."""
        await self.informers.close()

    def _build_algorithms(self, random: Random) -> dict[str, SchedulingAlgorithm]:
        """Build the profiles; they share the node at which the next search starts."""
        dependencies = self.semantics.plugin_dependencies(self.client, self.informers, self.cache, self.clock, random)
        next_start = NextStartNode()
        algorithms = {}
        for settings in self.configuration.profiles:
            handle = FrameworkHandle()
            self._handles.append(handle)
            profile = profiles.build_profile(settings, handle.with_handle(dependencies))
            framework = Framework(profile, self.cache, self.nominator, self.clock, self.metrics, self._log)
            handle.framework, handle.recorder = framework, self._recorder
            percentage = self.configuration.percentage_of_nodes_to_score
            algorithms[profile.name] = SchedulingAlgorithm(
                framework, random, percentage_of_nodes_to_score=percentage, next_start=next_start
            )
        return algorithms

    def _build_queue(self) -> SchedulingQueue:
        hints_enabled = self.semantics.caps.enabled("SchedulerQueueingHints")
        profile_by_name = {name: algorithm.framework.profile for name, algorithm in self.algorithms.items()}
        # All profiles have the same queue sort plugin: the configuration was validated.
        first = next(iter(profile_by_name.values()))
        hints = {
            name: QueueingHints(one.rejecting_plugins, self.clock, self.metrics, hints_enabled=hints_enabled)
            for name, one in profile_by_name.items()
        }
        config = SchedulingQueueConfig(
            sort_key=first.queue_sort.sort_key,
            pre_enqueue_plugins={name: one.pre_enqueue for name, one in profile_by_name.items()},
            hints=hints,
            backoff=self.configuration.backoff,
            pop_from_backoff=self.semantics.caps.enabled("SchedulerPopFromBackoffQ"),
        )
        queue = SchedulingQueue(config, self.clock, self.metrics, self.nominator.add_nominated_pod)
        queue.on_plugin_error = lambda pod, error: self.informers.bad.record_failure("queue", "Pod", pod.key, error)
        return queue

    def _build_workers(self, owner: str, *, at_once: int) -> list[Worker]:
        pods = self.informers.informer_for("Pod")
        writer = PodStatusWriter(self.client, self.semantics.caps, self.clock)
        failure_handler = FailureHandler(
            pods, self.queue, self.nominator, writer, self._recorder, self.metrics, self.clock
        )
        nominates = self.semantics.caps.enabled("NominatedNodeNameForExpectation")
        binding_dependencies = BindingDependencies(
            self.cache,
            self.queue,
            failure_handler,
            writer,
            self._recorder,
            self.metrics,
            self.clock,
            nominate_before_binding=nominates,
        )
        binding_cycle = BindingCycle(binding_dependencies, owner=owner, parallelism=at_once)
        executor_dependencies = ExecutorDependencies(
            self.client,
            pods,
            writer,
            self._recorder,
            self.nominator,
            self.metrics,
            activate=self.queue.activate,
            recheck_gate=self.queue.recheck_gate,
            cancel_binding=binding_cycle.cancel,
            relate_events_to_preemptor=self.semantics.caps.version < _EVENT_WITHOUT_PREEMPTOR_SINCE,
        )
        preemption_executor = PreemptionExecutor(executor_dependencies, owner=owner, parallelism=at_once)
        for handle in self._handles:
            handle.preemption_executor = preemption_executor
        self._register_event_handlers(binding_cycle)
        dependencies = SchedulingCycleDependencies(
            self.informers,
            self.queue,
            self.cache,
            self.nominator,
            self.algorithms,
            binding_cycle,
            preemption_executor,
            failure_handler,
            self._log,
            self._recorder,
            self.metrics,
            self.clock,
            self._tracer,
        )
        cycle = SchedulingCycle(dependencies, owner=owner)
        # Bindings and preemption go on: their pods have been decided, and requests come in the order of decisions.
        limited = RateLimitedWorker(cycle, self.client) if isinstance(self.client, RateLimitedClient) else cycle
        return [*self.informers.workers, limited, binding_cycle, preemption_executor, self._recorder]

    def _register_event_handlers(self, binding_cycle: BindingCycle) -> None:
        """Subscribe to what plugins register for.

        Plugins subscribed to their informers when they were built, so their own state is updated before hints run.
        """
        semantics = self.semantics
        event_handlers = EventHandlers(
            self.cache,
            self.queue,
            self.nominator,
            binding_cycle,
            semantics.requests,
            semantics.caps,
            tuple(self.algorithms),
        )
        event_handlers.register(self.informers, self.queue.resources)

    def _add_gauges(self) -> None:
        text = "Nodes, pods and assumed pods that the scheduler knows of."
        self.metrics.add_gauge("scheduler_cache_size", text, ("type",), self._cache_sizes)

    def _cache_sizes(self) -> Mapping[Labels, float]:
        return {(kind,): size for kind, size in self.cache.sizes.items()}


def _limit_client(client: Client, clock: Clock, configuration: Configuration) -> Client:
    """Return the client with the limits of the configuration; in virtual time with those of upstream by default."""
    # differs: without limits upstream's apply, so that a real scheduler binds 50 pods a second; nobody waits for a mock
    limits = configuration.client_limits or (ClientLimits() if isinstance(clock, VirtualClock) else None)
    if limits is None or limits.per_second < 0:
        return client
    return RateLimitedClient(client, clock, BucketRateLimiter(clock, limits.per_second, limits.burst))


def build(dependencies: ComponentDependencies[Client, Capabilities], configuration: Any = None) -> Scheduler:
    """Return the scheduler of a component; `configuration` is a decoded KubeSchedulerConfiguration, or None.

    Raises SchedulerConfigurationError for an invalid one.
    """
    document: ReadOnlyObject = configuration or {"apiVersion": configurations.API_VERSION, "kind": configurations.KIND}
    return Scheduler(dependencies, configurations.parse_configuration(document, dependencies.capabilities))
