"""Kubelets of a cluster, or of one node, as a component: informers, workers and event recorders."""

import zlib
from collections.abc import Sequence

from mockkube.client.informer import Informer, InformerFactory
from mockkube.client.protocol import Client, Key, Selection
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import binary_version
from mockkube.kubelet.dependencies import KubeletDependencies
from mockkube.kubelet.events.event_reporter import EventReporter
from mockkube.kubelet.events.node_events import COMPONENT, NodeEvents
from mockkube.kubelet.node_status_worker import NodeStatusWorker
from mockkube.kubelet.nodes.node_leases import NodeLeases
from mockkube.kubelet.nodes.node_rules import NodeRules
from mockkube.kubelet.nodes.node_status import NodeNumbers, get_internal_ip, get_pod_network
from mockkube.kubelet.pod_workers import PodWorkers
from mockkube.kubelet.pods.pod_syncer import KubeletRules
from mockkube.kubelet.stages.stage_cache import StageCache
from mockkube.kubelet.stages.status_writer import StageStatusWriter
from mockkube.kubelet.stages.template_functions import TemplateDependencies, TemplateFactory
from mockkube.proposals.component_extensions import make_taint_rules
from mockkube.proposals.expression_metrics import make_measured_cache
from mockkube.runtime.component import Component, ComponentDependencies
from mockkube.runtime.steps import Worker
from mockkube.shell.containers.container_states import ContainerStates


class Kubelets:
    """Kubelets of all nodes without one of their own (`kubelet`), or of one node (`kubelet.NODE`)."""

    def __init__(self, dependencies: ComponentDependencies[Client, Capabilities], states: ContainerStates) -> None:
        self._container_states = states
        client, clock, owner = dependencies.client, dependencies.clock, dependencies.component
        node = owner.partition(".")[2]
        self._informers = InformerFactory(client, clock, owner=owner, hot_loops=dependencies.hot_loops)
        self._node_events = NodeEvents(client, clock, dependencies.random, owner=owner)
        nodes = self._informers.informer_for("Node", Selection(fields=f"metadata.name={node}" if node else ""))
        pods = self._informers.informer_for(
            "Pod", Selection(fields=f"spec.nodeName={node}" if node else "spec.nodeName!=")
        )
        pods.add_event_handler(self._node_events.deleted_pods.handle_change)
        self._workers = self._build_workers(dependencies, nodes, pods)

    def _build_workers(
        self, dependencies: ComponentDependencies[Client, Capabilities], nodes: Informer, pods: Informer
    ) -> Sequence[Worker]:
        """Build the workers; those that subscribe to informers come after them."""
        client, clock, owner = dependencies.client, dependencies.clock, dependencies.component
        node_numbers = NodeNumbers()
        template_factory, unreachable_servers = (
            self._make_template_factory(dependencies, nodes, node_numbers),
            self._informers.unreachable_servers,
        )
        stage_cache = self._stage_cache = StageCache(
            client,
            clock,
            template_factory,
            owner=owner,
            unreachable_servers=unreachable_servers,
            bad_objects=self._informers.bad,
        )
        reporter = EventReporter(
            self._node_events, dependencies.metrics, dependencies.capabilities.version, clock, dependencies.hot_loops
        )
        stage_status_writer = StageStatusWriter(client, clock, reporter, owner=owner)
        # One component writes the status of stages: kubelets of single nodes would write the same.
        if owner == COMPONENT:
            stage_cache.result_handlers.append(stage_status_writer.report)
        kubelet_dependencies = KubeletDependencies(
            owner=owner,
            client=client,
            clock=clock,
            random=dependencies.random,
            owns_node=dependencies.owns,
            informers=self._informers,
            nodes=nodes,
            pods=pods,
            services=self._informers.informer_for("Service"),
            node_numbers=node_numbers,
            stage_cache=stage_cache,
            events=reporter,
            container_states=self._container_states,
        )
        cache = make_measured_cache(dependencies.metrics, "kubelet_toleration_cel_cache")
        taints = make_taint_rules(
            dependencies.capabilities, cache.compile_expression, dependencies.log.error_logger(clock.monotonic)
        )
        pod_worker = self._pod_workers = PodWorkers(
            kubelet_dependencies, KubeletRules.from_capabilities(dependencies.capabilities, taints)
        )
        node_leases = NodeLeases(client, clock, dependencies.owns, owner=owner, bad_objects=self._informers.bad)
        node_rules = NodeRules.from_capabilities(dependencies.capabilities)
        node_worker = NodeStatusWorker(kubelet_dependencies, node_rules, pod_workers=pod_worker, leases=node_leases)
        self.check_ownership = node_worker.enqueue_all
        return (
            *self._informers.workers,
            *stage_cache.workers,
            stage_status_writer,
            node_worker,
            pod_worker,
            node_leases,
            self._node_events,
        )

    def _make_template_factory(
        self, dependencies: ComponentDependencies[Client, Capabilities], nodes: Informer, node_numbers: NodeNumbers
    ) -> TemplateFactory:
        """Return the factory of stage templates, with functions that know nodes and pods."""

        def node_ip(name: str) -> str:
            return get_internal_ip(nodes.get(Key("", name)) or {}, node_numbers.get_number(name))

        def pod_ip(name: str, uid: str) -> str:
            network = get_pod_network(nodes.get(Key("", name)) or {}, node_numbers.get_number(name))
            # Stages have no memory of IPs: derived from the uid, a pod's IP is the same in each template.
            return f"{network}.{2 + zlib.crc32(uid.encode()) % 253}"

        version = binary_version(dependencies.capabilities.version)
        return TemplateFactory(TemplateDependencies(dependencies.clock.now, node_ip, pod_ip, version))

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers, workers of nodes, pods, stages and leases, and event recorders."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close all watches."""
        self._pod_workers.close()
        await self._stage_cache.close()
        await self._informers.close()


def build_kubelets(
    dependencies: ComponentDependencies[Client, Capabilities], states: ContainerStates | None = None
) -> Component:
    """Return the kubelets of a component; the states are what API servers let clients change in containers."""
    return Kubelets(dependencies, states or ContainerStates())
