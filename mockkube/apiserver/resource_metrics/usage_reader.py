"""Reads from the watch cache what usage depends on: running pods, and the loads of their workloads."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.subresources.running_containers import KubeletError, check_kubelet
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.pod_usage import UsagePod, calculate_container_usage
from mockkube.matching.usage.workload_loads import (
    LoadedWorkload,
    OwnerKey,
    ParseLoads,
    find_loaded_workload,
    parse_resource_loads,
    read_owner,
)

Usage = dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class RunningPod:
    """Pod with running containers on a node whose simulated kubelet answers."""

    cached: CachedObject
    node: str
    pod: UsagePod
    owner: OwnerKey | None


class UsageReader:
    """Reader of usage; what it parses of a pod is kept until the pod changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, tuple[CachedObject, RunningPod | None]] = {}

    def find_pod(self, namespace: str, name: str) -> RunningPod | None:
        """Return one running pod."""
        cached = self.pods.get_cached(namespace, name)
        return None if cached is None else self._read(cached)

    def list_pods(self, namespace: str = "") -> list[RunningPod]:
        """Return the running pods of a namespace, or of all, in the order of their keys."""
        objects = self.pods.collection.objects
        if not namespace and len(self._known) > 2 * len(objects):
            self._known = {key: known for key, known in self._known.items() if key in objects}
        answering = _AnsweringNodes(self._registry)
        found = (self._read(cached) for cached in objects.values() if not namespace or cached.namespace == namespace)
        running = [one for one in found if one is not None and answering.has(one.node)]
        return sorted(running, key=lambda one: (one.cached.namespace, one.cached.name))

    @property
    def pods(self) -> Resource:
        """Resource of the pods."""
        return self._find("", "pods")

    @property
    def nodes(self) -> Resource:
        """Resource of the nodes."""
        return self._find("", "nodes")

    def _find(self, group: str, plural: str) -> Resource:
        resource = self._registry.find_storage_resource(group, plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    def _read(self, cached: CachedObject) -> RunningPod | None:
        known = self._known.get(cached.key)
        if known is not None and known[0] is cached:
            return known[1]
        pod = cached.load()
        node, usage = pod["spec"].get("nodeName"), UsagePod.read(pod)
        running = None if usage is None or not node else RunningPod(cached, node, usage, read_owner(pod))
        self._known[cached.key] = cached, running
        return running

    def answers(self, node: str) -> bool:
        """Return whether the simulated kubelet of a node answers."""
        return _AnsweringNodes(self._registry).has(node)

    def calculate(self, pods: list[RunningPod], now: datetime) -> Iterator[tuple[RunningPod, list[Usage]]]:
        """Yield each pod with the usage of its containers."""
        shares = self.make_shares(now)
        for one in pods:
            yield one, calculate_container_usage(one.pod, now, shares.get_share(one))

    def make_shares(self, now: datetime, parse: ParseLoads = parse_resource_loads) -> "WorkloadShares":
        """Return the shares that pods have of the loads of their workloads, at one moment."""
        return WorkloadShares(self, self._registry, now, parse)


class _AnsweringNodes:
    """Nodes whose simulated kubelets answer, looked up once each."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Return whether the simulated kubelet of a node answers."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._ask(name)
        return known

    def _ask(self, name: str) -> bool:
        nodes = self._registry.find_storage_resource("", "nodes")
        cached = None if nodes is None else nodes.get_cached("", name)
        if nodes is None or cached is None:
            return False
        try:
            check_kubelet(nodes, cached.load())
        except KubeletError:
            return False
        return True


class WorkloadShares:
    """Shares of the loads of workloads during one request."""

    def __init__(self, reader: UsageReader, registry: Registry, now: datetime, parse: ParseLoads) -> None:
        self._reader, self._registry, self._now, self._parse = reader, registry, now, parse
        self._workloads: dict[str, LoadedWorkload | None] = {}
        self._shares: dict[str, Usage] = {}

    def get_share(self, pod: RunningPod) -> Usage:
        """Return the pod's share of the load of its workload: nothing while it is not ready."""
        workload = self._find_workload(pod)
        if workload is None:
            return {}
        if not pod.pod.is_ready:
            return dict.fromkeys(workload.load, Decimal(0))
        share = self._shares.get(workload.uid)
        if share is None:
            share = self._shares[workload.uid] = workload.get_share(self._now, self._count_ready(workload, pod))
        return share

    def _find_workload(self, pod: RunningPod) -> LoadedWorkload | None:
        if pod.owner is None:
            return None
        uid = pod.owner.uid
        if uid not in self._workloads:
            self._workloads[uid] = find_loaded_workload(pod.owner, self._find_owner, self._parse)
        return self._workloads[uid]

    def _find_owner(self, owner: OwnerKey) -> ReadOnlyObject | None:
        resource = self._registry.find_by_kind(owner.api_version, owner.kind)
        if resource is None:
            return None
        cached = resource.get_cached(owner.namespace if resource.kind.namespaced else "", owner.name)
        return None if cached is None else cached.load()

    def _count_ready(self, workload: LoadedWorkload, pod: RunningPod) -> int:
        """Return the number of ready pods that share the load."""
        siblings = self._reader.list_pods(pod.cached.namespace)
        own = (one for one in siblings if one.pod.is_ready)
        return sum(1 for one in own if (found := self._find_workload(one)) is not None and found.uid == workload.uid)
