"""The kubelets of a cluster, or of one node, as a part of it."""

from collections.abc import Sequence

from mockkube.api.requests import RequestRules
from mockkube.client.cache import Caches, ListWatch
from mockkube.client.protocol import Client, Selection
from mockkube.client.recorder import EventRecorder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.kubelet.admission import AdmissionRules
from mockkube.kubelet.heartbeats import Heartbeats
from mockkube.kubelet.node_status import Places
from mockkube.kubelet.nodes import NodeWorker
from mockkube.kubelet.pod_status import StatusRules
from mockkube.kubelet.pods import KubeletRules, PodWorker
from mockkube.kubelet.reporting import Reporter
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.lending import selector_operators, taint_rules
from mockkube.runtime.part import Context, Part
from mockkube.runtime.steps import Worker

_SHORT_TEXTS = Version(1, 35)
"""From here on events do not name the container they are about in their text."""


def rules_of(caps: Capabilities) -> KubeletRules:
    """Return what follows from a kubelet's version and gates."""
    admission = AdmissionRules(
        taints=taint_rules(caps, ExpressionCache().expression),
        selector_operators=selector_operators(caps),
        requests=RequestRules.of(caps),
        groups_policy=caps.enabled("SupplementalGroupsPolicy"),
        pod_level_resources=caps.enabled("PodLevelResources"),
    )
    return KubeletRules(admission, StatusRules.of(caps), long_texts=caps.version < _SHORT_TEXTS)


class Kubelets:
    """The kubelets of every node that has none of its own, or the kubelet of one node."""

    def __init__(self, context: Context[Client, Capabilities]) -> None:
        client, clock, owner = context.client, context.clock, context.component
        node = owner.partition(".")[2]
        self._caches = Caches(client, clock, owner=owner)
        self._recorder = EventRecorder(client, clock, context.chance, component="kubelet", owner=owner)
        nodes = self._caches.of("Node", Selection(fields=f"metadata.name={node}" if node else ""))
        pods = self._caches.of("Pod", Selection(fields=f"spec.nodeName={node}" if node else "spec.nodeName!="))
        self._workers = self._build(context, nodes, pods)

    def _build(self, context: Context[Client, Capabilities], nodes: ListWatch, pods: ListWatch) -> Sequence[Worker]:
        client, clock, owner = context.client, context.clock, context.component
        reporter = Reporter(self._recorder, context.metrics)
        places = Places()
        pod_worker = PodWorker(
            client,
            clock,
            pods=pods,
            nodes=nodes,
            owns=context.owns,
            rules=rules_of(context.capabilities),
            places=places,
            reporter=reporter,
            owner=owner,
        )
        heartbeats = Heartbeats(client, clock, context.owns, owner=owner)
        node_worker = NodeWorker(
            client,
            clock,
            nodes=nodes,
            pods=pod_worker,
            heartbeats=heartbeats,
            owns=context.owns,
            version=context.capabilities.version,
            places=places,
            reporter=reporter,
            owner=owner,
        )
        return (*self._caches.workers, node_worker, pod_worker, heartbeats, self._recorder)

    @property
    def workers(self) -> Sequence[Worker]:
        """All that works in it."""
        return self._workers

    async def start(self) -> None:
        """Begin; the caches fill themselves."""

    async def stop(self) -> None:
        """Stop watching."""
        await self._caches.close()


def build(context: Context[Client, Capabilities]) -> Part:
    """Return the kubelets of a component."""
    return Kubelets(context)
