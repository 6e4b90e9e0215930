"""Kubelets of a cluster, or of one node, as a component: informers, workers and event recorders."""

import zlib
from collections.abc import Sequence

from mockkube.client.cache import Informer, InformerFactory
from mockkube.client.protocol import Client, Key, Selection
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import binary_version
from mockkube.kubelet.dependencies import Equipment
from mockkube.kubelet.event_reporter import Reporter
from mockkube.kubelet.node_events import COMPONENT, Voices
from mockkube.kubelet.node_leases import Heartbeats
from mockkube.kubelet.node_rules import NodeRules
from mockkube.kubelet.node_status import Places, internal_ip, pod_network
from mockkube.kubelet.node_status_worker import NodeWorker
from mockkube.kubelet.pod_syncer import KubeletRules
from mockkube.kubelet.pod_workers import PodWorker
from mockkube.kubelet.stages.functions import Machine, Surroundings
from mockkube.kubelet.stages.stage_cache import StageBook
from mockkube.kubelet.stages.status_writer import Verdicts
from mockkube.proposals.expression_metrics import make_measured_cache
from mockkube.proposals.lending import make_taint_rules
from mockkube.runtime.part import Component, ComponentDependencies
from mockkube.runtime.steps import Worker


class Kubelets:
    """Kubelets of all nodes without one of their own (`kubelet`), or of one node (`kubelet.NODE`)."""

    def __init__(self, context: ComponentDependencies[Client, Capabilities]) -> None:
        client, clock, owner = context.client, context.clock, context.component
        node = owner.partition(".")[2]
        self._caches = InformerFactory(client, clock, owner=owner, hot_loops=context.hot_loops)
        self._voices = Voices(client, clock, context.random, owner=owner)
        nodes = self._caches.informer_for("Node", Selection(fields=f"metadata.name={node}" if node else ""))
        pods = self._caches.informer_for(
            "Pod", Selection(fields=f"spec.nodeName={node}" if node else "spec.nodeName!=")
        )
        self._workers = self._build(context, nodes, pods)

    def _build(
        self, context: ComponentDependencies[Client, Capabilities], nodes: Informer, pods: Informer
    ) -> Sequence[Worker]:
        """Build the workers; those that subscribe to informers come after them."""
        client, clock, owner = context.client, context.clock, context.component
        places = Places()
        surroundings, outages = self._surroundings(context, nodes, places), self._caches.unreachable_servers
        book = self._book = StageBook(client, clock, surroundings, owner=owner, outages=outages, bad=self._caches.bad)
        reporter = Reporter(self._voices, context.metrics, context.capabilities.version, clock, context.hot_loops)
        verdicts = Verdicts(client, clock, reporter, owner=owner)
        # One component writes the status of stages: kubelets of single nodes would write the same.
        if owner == COMPONENT:
            book.judged.append(verdicts.judge)
        equipment = Equipment(
            owner=owner,
            client=client,
            clock=clock,
            chance=context.random,
            owns=context.owns,
            caches=self._caches,
            nodes=nodes,
            pods=pods,
            places=places,
            book=book,
            reporter=reporter,
        )
        cache = make_measured_cache(context.metrics, "kubelet_toleration_cel_cache")
        taints = make_taint_rules(
            context.capabilities, cache.compile_expression, context.log.error_logger(clock.monotonic)
        )
        pod_worker = PodWorker(equipment, KubeletRules.of(context.capabilities, taints))
        heartbeats = Heartbeats(client, clock, context.owns, owner=owner, bad=self._caches.bad)
        node_rules = NodeRules.of(context.capabilities)
        node_worker = NodeWorker(equipment, node_rules, pods=pod_worker, heartbeats=heartbeats)
        return (*self._caches.workers, *book.workers, verdicts, node_worker, pod_worker, heartbeats, self._voices)

    def _surroundings(
        self, context: ComponentDependencies[Client, Capabilities], nodes: Informer, places: Places
    ) -> Surroundings:
        """Return the factory of stage templates, with functions that know nodes and pods."""

        def node_ip(name: str) -> str:
            return internal_ip(nodes.get(Key("", name)) or {}, places.of(name))

        def pod_ip(name: str, uid: str) -> str:
            network = pod_network(nodes.get(Key("", name)) or {}, places.of(name))
            # Stages have no memory of IPs: derived from the uid, a pod's IP is the same in each template.
            return f"{network}.{2 + zlib.crc32(uid.encode()) % 253}"

        version = binary_version(context.capabilities.version)
        return Surroundings(Machine(context.clock.now, node_ip, pod_ip, version))

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers, workers of nodes, pods, stages and leases, and event recorders."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close all watches."""
        await self._book.close()
        await self._caches.close()


def build(context: ComponentDependencies[Client, Capabilities]) -> Component:
    """Return the kubelets of a component."""
    return Kubelets(context)
