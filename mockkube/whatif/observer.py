"""Observer of a variant: samples of nodes, pods and workloads, and pods that end, with the cause."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.client.informer import InformerFactory, ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import DISRUPTION_TARGET, is_finished, is_ready
from mockkube.nodegroups import group_status
from mockkube.nodegroups.node_group import GROUP_LABEL, NodeGroup, price_of, zone_of
from mockkube.rehearse.upgrade import POOL_LABELS
from mockkube.whatif.results import PendingPods, PlacementRow, Sample, WorkloadResult

TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
_CAUSES: Final = {
    "EvictionByEvictionAPI": "evicted",
    "DeletionByTaintManager": "evicted by a taint",
    "DeletionByDeviceTaintManager": "evicted by a taint",
    "DeletionByPodGC": "lost with the node",
    "PreemptionByScheduler": "preempted",
    "TerminationByKubelet": "ended by the kubelet",
}
DELETED: Final = "deleted by its controller"
RESCHEDULED: Final = "deleted to be placed anew"
# Causes that are no disruption: the workload wants fewer pods, or other ones, or the change itself deletes them.
PLANNED: Final = (DELETED, RESCHEDULED)
_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
_RULES: Final = PodResourcesOptions()


@dataclass(slots=True)
class _Shortage:
    """Replicas that a workload lacks over time."""

    most: int = 0
    seconds: float = 0.0
    now: int = 0


class Observer:
    """Observer of one simulated cluster; `look` reads what has changed."""

    def __init__(self, cluster: SimulatedCluster, groups: Sequence[NodeGroup], prices: Mapping[str, float]) -> None:
        self._cluster, self._groups, self._prices = cluster, groups, prices
        self._informers = InformerFactory(cluster.client(), cluster.clock, owner="whatif")
        self._pods = self._informers.informer_for("Pod")
        self._nodes = self._informers.informer_for("Node")
        self._workloads = {kind: self._informers.informer_for(kind) for kind in _KINDS}
        self._pods.add_event_handler(self._on_pod_change)
        for informer in self._informers.workers:
            informer.add_event_handler(self._on_change)
        # Whether something has changed since the last sample.
        self._has_changed = True
        self._started_at = cluster.clock.monotonic()
        self._last_at = self._started_at
        self._is_counting = False
        self._ended: set[str] = set()
        self._rescheduled: frozenset[str] = frozenset()
        self._disruptions: dict[str, Counter[str]] = {}
        self._shortages: dict[str, _Shortage] = {}
        self._shortages_before: dict[str, int] = {}
        self.samples: list[Sample] = []
        self.cost = 0.0

    async def close(self) -> None:
        """Close all watches."""
        await self._informers.close()

    async def look(self) -> None:
        """Read what has changed."""
        for informer in self._informers.workers:
            while informer.is_ready():
                await informer.step()

    async def begin(self) -> None:
        """Take the first sample; from now on pods that end and replicas that are missing count."""
        await self.look()
        self._started_at = self._last_at = self._cluster.clock.monotonic()
        self._shortages_before = self._find_shortages()
        self._is_counting = True
        self._sample(self._shortages_before)

    def note_rescheduled(self, uids: Iterable[str]) -> None:
        """Note the pods that the change itself deletes."""
        self._rescheduled = frozenset(uids)

    async def sample(self) -> None:
        """Take a sample."""
        await self.look()
        now = self._cluster.clock.monotonic()
        # What was so at the last sample lasted until now.
        for shortage in self._shortages.values():
            if shortage.now:
                shortage.seconds += now - self._last_at
        self.cost += self.samples[-1].cost_per_hour * (now - self._last_at) / 3600
        self._last_at = now
        if not self._has_changed:
            self.samples.append(replace(self.samples[-1], at=round(now - self._started_at, 3)))
            return
        self._has_changed = False
        shortages = self._find_shortages()
        for name in {*shortages, *self._shortages}:
            known = self._shortages.setdefault(name, _Shortage())
            known.now = max(shortages.get(name, 0) - self._shortages_before.get(name, 0), 0)
            known.most = max(known.most, known.now)
        self._sample(shortages)

    def _sample(self, shortages: Mapping[str, int]) -> None:
        nodes, pods = self._nodes.list(), self._pods.list()
        self.samples.append(
            Sample(
                at=round(self._cluster.clock.monotonic() - self._started_at, 3),
                nodes=len(nodes),
                ready_nodes=sum(map(group_status.is_ready, nodes)),
                running=sum(map(_is_running, pods)),
                pending=sum(map(_is_waiting, pods)),
                unavailable=sum(shortages.values()),
                cost_per_hour=round(sum(map(self._price_of, nodes)), 6),
            )
        )

    def _price_of(self, node: ReadOnlyObject) -> float:
        found = price_of(node, self._groups)
        kind = (node["metadata"].get("labels") or {}).get(TYPE_LABEL, "")
        return found or self._prices.get(kind, self._prices.get("*", 0.0))

    # Workloads

    def _find_shortages(self) -> dict[str, int]:
        """Return how many ready pods each workload lacks, without those that lack none."""
        ready: Counter[str] = Counter()
        for pod in self._pods.list():
            if _is_running(pod) and is_ready(pod):
                ready[self.find_workload(pod)] += 1
        wanted = {}
        for kind, informer in self._workloads.items():
            for obj in informer.list():
                if kind == "ReplicaSet" and _controller_of(obj) is not None:
                    continue
                name = _name(kind, obj)
                if (missing := _count_wanted(kind, obj) - ready[name]) > 0:
                    wanted[name] = missing
        return wanted

    def find_workload(self, pod: ReadOnlyObject) -> str:
        """Return the workload of a pod, like `Deployment shop/web`; the pod itself if it has none."""
        owner, obj, kind = _controller_of(pod), pod, "Pod"
        while owner is not None:
            kind = owner["kind"]
            informer = self._workloads.get(kind)
            namespace = pod["metadata"].get("namespace", "")
            found = None if informer is None else informer.get(Key(namespace, owner["name"]))
            if found is None:
                return f"{kind} {namespace}/{owner['name']}"
            obj, owner = found, _controller_of(found)
        return _name(kind, obj)

    def _on_change(self, change: ObjectChange) -> None:
        self._has_changed = True

    def _on_pod_change(self, change: ObjectChange) -> None:
        """Count a pod that ran and ends."""
        pod, old = change.object, change.old
        uid = pod["metadata"].get("uid", "")
        if not self._is_counting or uid in self._ended:
            return
        ran = _is_running(pod) if change.type is WatchEventType.DELETED else old is not None and _is_running(old)
        ends = change.type is WatchEventType.DELETED or not _is_running(pod)
        if not ran or not ends or (pod.get("status") or {}).get("phase") == "Succeeded":
            return
        self._ended.add(uid)
        cause = RESCHEDULED if uid in self._rescheduled else find_cause(pod)
        self._disruptions.setdefault(self.find_workload(pod), Counter())[cause] += 1

    # Results

    def list_placement(self) -> tuple[PlacementRow, ...]:
        """Return the nodes by zone and group, with the pods on them."""
        nodes: dict[tuple[str, str], list[ReadOnlyObject]] = {}
        places: dict[str, tuple[str, str]] = {}
        for node in self._nodes.list():
            place = (zone_of(node), self._find_group(node))
            places[node["metadata"]["name"]] = place
            nodes.setdefault(place, []).append(node)
        pods: dict[tuple[str, str], list[ReadOnlyObject]] = {}
        for pod in self._pods.list():
            place_of_pod = places.get(pod["spec"].get("nodeName", ""))
            if place_of_pod is not None and not is_finished(pod):
                pods.setdefault(place_of_pod, []).append(pod)
        return tuple(_make_row(place, nodes[place], pods.get(place, [])) for place in sorted(nodes))

    def _find_group(self, node: ReadOnlyObject) -> str:
        labels = node["metadata"].get("labels") or {}
        group = next((one.name for one in self._groups if one.contains(node)), "")
        named = (labels.get(label, "") for label in (GROUP_LABEL, *POOL_LABELS))
        return group or next(filter(None, named), "")

    def list_pending(self) -> tuple[PendingPods, ...]:
        """Return the pods without a node, by workload and reason."""
        found = Counter((self.find_workload(pod), _find_reason(pod)) for pod in self._pods.list() if _is_waiting(pod))
        return tuple(PendingPods(name, count, reason) for (name, reason), count in sorted(found.items()))

    def list_workloads(self) -> tuple[WorkloadResult, ...]:
        """Return the workloads that lacked replicas or lost pods."""
        names = {name for name, one in self._shortages.items() if one.most} | {*self._disruptions}
        return tuple(map(self._make_workload, sorted(names)))

    def _make_workload(self, name: str) -> WorkloadResult:
        shortage = self._shortages.get(name, _Shortage())
        kind, _, place = name.partition(" ")
        namespace, _, plain = place.partition("/")
        informer = self._workloads.get(kind)
        obj = None if informer is None else informer.get(Key(namespace, plain))
        disruptions = dict(sorted(self._disruptions.get(name, Counter()).items()))
        wanted = 0 if obj is None else _count_wanted(kind, obj)
        return WorkloadResult(name, wanted, shortage.most, shortage.seconds, shortage.now, disruptions)

    def count_disruptions(self) -> dict[str, int]:
        """Return the number of pods that ended, by cause."""
        total: Counter[str] = Counter()
        for counts in self._disruptions.values():
            total.update(counts)
        return dict(sorted(total.items()))

    def find_recovery(self) -> float | None:
        """Return when workloads lack no more replicas than before, for good; None if they still do at the end."""
        bound = self.samples[0].unavailable
        recovered: float | None = self.samples[0].at
        for sample in self.samples[1:]:
            if sample.unavailable > bound:
                recovered = None
            elif recovered is None:
                recovered = sample.at
        return recovered


def find_cause(pod: ReadOnlyObject) -> str:
    """Return why a pod ended, in words."""
    condition = find_condition((pod.get("status") or {}).get("conditions") or (), DISRUPTION_TARGET)
    if condition is not None and condition.get("status") == "True":
        return _CAUSES.get(condition.get("reason", ""), str(condition.get("reason", "")))
    if (pod.get("status") or {}).get("phase") == "Failed":
        return str(pod["status"].get("reason") or "failed").lower()
    return DELETED


def _make_row(place: tuple[str, str], nodes: Sequence[ReadOnlyObject], pods: Sequence[ReadOnlyObject]) -> PlacementRow:
    total, capacity = Resources(), Resources()
    for pod in pods:
        total.add(calculate_pod_requests(pod, _RULES))
    for node in nodes:
        capacity.add(Resources.from_resource_list((node.get("status") or {}).get("allocatable") or {}))
    cpu, memory = (_percent(total.get_amount(name), capacity.get_amount(name)) for name in ("cpu", "memory"))
    return PlacementRow(place[0], place[1], len(nodes), len(pods), cpu, memory)


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def _controller_of(obj: ReadOnlyObject) -> ReadOnlyObject | None:
    return next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)


def _name(kind: str, obj: ReadOnlyObject) -> str:
    return f"{kind} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _count_wanted(kind: str, obj: ReadOnlyObject) -> int:
    if kind == "DaemonSet":
        wanted: int = (obj.get("status") or {}).get("desiredNumberScheduled", 0)
    else:
        wanted = obj["spec"].get("replicas", 1)
    return wanted


def _is_running(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")


def _is_waiting(pod: ReadOnlyObject) -> bool:
    """Return whether a pod has no node, and should."""
    waits = not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    return waits and not is_finished(pod)


def _find_reason(pod: ReadOnlyObject) -> str:
    condition = find_condition((pod.get("status") or {}).get("conditions") or (), "PodScheduled")
    return "" if condition is None else str(condition.get("message") or condition.get("reason") or "")


def join_counts(counts: Mapping[str, int]) -> str:
    """Return counts by cause in one line."""
    return ", ".join(f"{count} {cause}" for cause, count in counts.items())


def count_disrupted(counts: Mapping[str, int]) -> int:
    """Return the number of pods that something disrupted, without those that were removed on purpose."""
    return sum(count for cause, count in counts.items() if cause not in PLANNED)
