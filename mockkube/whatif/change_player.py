"""Apply the changes of a variant to its cluster, as an operator or a failure does."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final, assert_never

from mockkube.api.catalogue import KINDS
from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.client.protocol import Key, key_of
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.importing.dump_files import read_dump
from mockkube.importing.errors import UnreadableDumpError
from mockkube.matching.usage.annotations import LOAD_PREFIX, RESOURCES
from mockkube.nodegroups.node_group import zone_of
from mockkube.rehearse.drain_checks import find_controller_kind, is_evicted_by_drain
from mockkube.rehearse.upgrade import POOL_LABELS
from mockkube.whatif.changes import (
    Amount,
    Change,
    ConsolidationChange,
    LoadScaling,
    Loss,
    ManifestChange,
    NodeCountChange,
    NodeGroupChange,
    NodeLoss,
    Rescheduling,
    WorkloadScaling,
    ZoneLoss,
)
from mockkube.whatif.errors import WhatIfError
from mockkube.whatif.node_losses import NodeLosses

_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
_GROUPS: Final = "NodeGroup"
_SERVER_FIELDS: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class ChangePlayer:
    """Applies changes to one cluster."""

    def __init__(self, cluster: SimulatedCluster, losses: NodeLosses) -> None:
        self._cluster, self._client, self._losses = cluster, cluster.client(), losses
        # Uids of the pods that were deleted to be placed anew.
        self.rescheduled: set[str] = set()

    async def apply(self, change: Change) -> str:
        """Apply a change; return what it does in words, or raise WhatIfError if that is not possible."""
        try:
            return await self._apply(change)
        except ApiError as error:
            raise WhatIfError(f"a change is refused: {error.message}") from None
        except UnreadableDumpError as error:
            raise WhatIfError(f"apply {error}") from None

    async def _apply(self, change: Change) -> str:
        match change:
            case NodeCountChange():
                return await self._change_nodes(change)
            case NodeLoss():
                await self._require_node(change.name)
                await self._losses.begin([change.name], change.loss)
                return f"node {change.name} is {_describe_loss(change.loss)}"
            case ZoneLoss():
                return await self._lose_zone(change)
            case WorkloadScaling():
                return await self._scale(change)
            case LoadScaling():
                return await self._scale_load(change)
            case NodeGroupChange():
                number = int(change.number) if change.number == int(change.number) else change.number
                await self._change_groups(change.name, {change.field: number})
                return f"{change.field} of {_name_groups(change.name)} is {number}"
            case ConsolidationChange():
                return await self._change_consolidation(change)
            case ManifestChange():
                return await self._apply_manifests(change)
            case Rescheduling():
                return await self._reschedule()
        assert_never(change)

    # Nodes

    async def _list_nodes(self) -> Sequence[ReadOnlyObject]:
        return (await self._client.list("Node")).items

    async def _require_node(self, name: str) -> None:
        try:
            await self._client.get("Node", Key("", name))
        except NotFound:
            names = [node["metadata"]["name"] for node in await self._list_nodes()]
            raise WhatIfError(f"node {name}: there is none; the cluster has {_join(names)}") from None

    async def _change_nodes(self, change: NodeCountChange) -> str:
        wanted = dict(change.labels)
        nodes = [node for node in await self._list_nodes() if _is_worker(node) and _has_labels(node, wanted)]
        if not nodes:
            labels = ", ".join(f"{key}={value}" for key, value in change.labels)
            raise WhatIfError(f"nodes: there is no node{f' with {labels}' if labels else ''} to change")
        count = change.amount.apply(len(nodes))
        if count >= len(nodes):
            return await self._add_nodes(nodes, count)
        names = choose_nodes(nodes, len(nodes) - count)
        await self._losses.begin(names, change.loss)
        verb = "is" if len(names) == 1 else "are"
        return f"{len(nodes)} → {count} nodes: {_join(names)} {verb} {_describe_loss(change.loss)}"

    async def _add_nodes(self, nodes: Sequence[ReadOnlyObject], count: int) -> str:
        """Add copies of nodes, in turn."""
        for index in range(count - len(nodes)):
            node = nodes[index % len(nodes)]
            name = f"{node['metadata']['name']}-copy-{index // len(nodes) + 1}"
            await self._client.create("Node", copy_node(node, name))
        return f"{len(nodes)} → {count} nodes"

    async def _lose_zone(self, change: ZoneLoss) -> str:
        nodes = await self._list_nodes()
        names = [node["metadata"]["name"] for node in nodes if zone_of(node) == change.zone]
        all_groups = await self._list_groups()
        groups = [group for group in all_groups if change.zone in _zones_of(group)]
        if not names and not groups:
            known = {zone_of(node) for node in nodes}.union(*map(_zones_of, all_groups)) - {""}
            raise WhatIfError(
                f"zone {change.zone}: no node is there; the cluster has {_join(sorted(known)) or 'no zones'}"
            )
        for group in groups:
            zones = [zone for zone in group["spec"]["zones"] if zone != change.zone]
            # A group that is in this zone alone can add no node any more.
            rest: Object = {"zones": zones} if zones else {"minSize": 0, "maxSize": 0}
            await self._patch_group(group["metadata"]["name"], rest)
        await self._losses.begin(names, change.loss)
        return f"zone {change.zone} with {len(names)} node{'s' * (len(names) != 1)} is {_describe_loss(change.loss)}"

    # Node groups

    async def _list_groups(self) -> Sequence[ReadOnlyObject]:
        return (await self._client.list(_GROUPS)).items

    async def _patch_group(self, name: str, spec: Mapping[str, Any]) -> None:
        await self._client.patch(_GROUPS, Key("", name), {"spec": spec}, patch_type=PatchType.MERGE)

    async def _change_groups(self, name: str, spec: Mapping[str, Any]) -> None:
        """Change the group of a name, or all groups (`*`)."""
        names = [group["metadata"]["name"] for group in await self._list_groups()]
        if not names or name not in (*names, "*"):
            raise WhatIfError(f"nodegroup {name}: there is none; there are {_join(names) or 'no groups'}")
        for one in names if name == "*" else [name]:
            try:
                await self._patch_group(one, spec)
            except ApiError as error:
                raise WhatIfError(f"nodegroup {one}: {error.message}") from None

    async def _change_consolidation(self, change: ConsolidationChange) -> str:
        is_budget = change.field == "budget"
        value: Object = {"budgets": [{"nodes": change.text}]} if is_budget else {change.field: change.text}
        # Consolidation takes the place of the cluster-autoscaler's scale-down.
        await self._change_groups(change.name, {"disruption": value, "scaleDown": None})
        return f"{change.field} of {_name_groups(change.name)} is {change.text}"

    # Workloads

    async def _get_workload(self, kind: str, key: Key) -> ReadOnlyObject:
        try:
            return await self._client.get(kind, key)
        except NotFound:
            names = [str(key_of(one)) for one in (await self._client.list(kind)).items]
            raise WhatIfError(f"{kind} {key}: there is none; there are {_join(names) or 'none of this kind'}") from None

    async def _scale(self, change: WorkloadScaling) -> str:
        obj = await self._get_workload(change.kind, change.key)
        old = obj["spec"].get("replicas", 1)
        new = change.amount.apply(old)
        name = f"{change.kind} {change.key}"
        bounds = await self._scale_autoscaler(change.kind, change.key, change.amount)
        await self._client.patch(change.kind, change.key, {"spec": {"replicas": new}}, patch_type=PatchType.MERGE)
        return f"{name}: {old} → {new} replicas{bounds}"

    async def _scale_autoscaler(self, kind: str, key: Key, amount: Amount) -> str:
        """Change the bounds of a workload's autoscaler alike: it would undo the change otherwise."""
        for autoscaler in (await self._client.list("HorizontalPodAutoscaler")).items:
            spec, metadata = autoscaler["spec"], autoscaler["metadata"]
            target = spec["scaleTargetRef"]
            if (metadata["namespace"], target["kind"], target["name"]) != (key.namespace, kind, key.name):
                continue
            least, most = amount.apply(spec.get("minReplicas", 1)), amount.apply(spec["maxReplicas"])
            bounds = {"minReplicas": max(least, 1), "maxReplicas": max(most, least, 1)}
            place = Key(metadata["namespace"], metadata["name"])
            await self._client.patch("HorizontalPodAutoscaler", place, {"spec": bounds}, patch_type=PatchType.MERGE)
            return f", and its autoscaler has {bounds['minReplicas']} to {bounds['maxReplicas']}"
        return ""

    async def _scale_load(self, change: LoadScaling) -> str:
        obj = await self._get_workload(change.kind, change.key)
        annotations = obj["metadata"].get("annotations") or {}
        names = [f"{LOAD_PREFIX}{resource}" for resource in RESOURCES]
        loads = {name: scale_curve(annotations[name], change.factor) for name in names if name in annotations}
        if not loads:
            workload = f"{change.kind.lower()}/{change.key.name}"
            raise WhatIfError(
                f"load {change.key}: {change.kind} has no annotation {names[0]}: give it a load first, like "
                f"'kubectl annotate -n {change.key.namespace} {workload} {names[0]}=900m'"
            )
        await self._client.patch(
            change.kind, change.key, {"metadata": {"annotations": loads}}, patch_type=PatchType.MERGE
        )
        return f"{change.kind} {change.key} has {change.factor:g} times the load"

    async def _reschedule(self) -> str:
        pods = [pod for pod in (await self._client.list("Pod")).items if _can_be_recreated(pod)]
        for pod in pods:
            self.rescheduled.add(pod["metadata"]["uid"])
            await self._client.delete("Pod", key_of(pod))
        return f"{len(pods)} pod{'s are' if len(pods) != 1 else ' is'} deleted, and placed anew"

    # Manifests

    async def _apply_manifests(self, change: ManifestChange) -> str:
        count = 0
        for obj in read_dump(change.path):
            await self._apply_object(obj, change.path)
            count += 1
        return f"{count} object{'s' * (count != 1)} of {change.path}"

    async def _apply_object(self, obj: Object, path: str) -> None:
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        kind = f"{obj['kind']}.{group}" if group else obj["kind"]
        metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVER_FIELDS}
        if _is_namespaced(group, obj["kind"]):
            metadata.setdefault("namespace", "default")
        new = {**obj, "metadata": metadata}
        try:
            try:
                await self._client.create(kind, new)
            except AlreadyExists:
                key = Key(metadata.get("namespace", ""), metadata["name"])
                await self._client.patch(kind, key, new, patch_type=PatchType.MERGE)
        except ApiError as error:
            raise WhatIfError(f"apply {path}: {obj['kind']} {metadata.get('name')}: {error.message}") from None


def _describe_loss(loss: Loss) -> str:
    """Return what happens to a node; a drain may take long, or not succeed."""
    return "being drained" if loss is Loss.DRAINED else str(loss)


def _name_groups(name: str) -> str:
    return "all node groups" if name == "*" else f"node group {name}"


def choose_nodes(nodes: Sequence[ReadOnlyObject], count: int) -> list[str]:
    """Return nodes to remove, spread over zones and pools; the same ones in every run."""
    places: dict[tuple[str, str], list[str]] = {}
    for node in sorted(nodes, key=lambda one: one["metadata"]["name"], reverse=True):
        labels = node["metadata"].get("labels") or {}
        pool = next((labels[label] for label in POOL_LABELS if label in labels), "")
        places.setdefault((zone_of(node), pool), []).append(node["metadata"]["name"])
    # Each place gives its part: the next node comes from the place that has given the smallest part so far.
    queue = [
        ((index + 1) / len(names), place, name) for place, names in places.items() for index, name in enumerate(names)
    ]
    return [name for _, _, name in sorted(queue)[:count]]


def copy_node(node: ReadOnlyObject, name: str) -> Object:
    """Return another node with the labels, taints and capacity of a node."""
    metadata = node["metadata"]
    capacity = (node.get("status") or {}).get("capacity") or {}
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/hostname": name}
    text = ",".join(f"{key}={amount}" for key, amount in capacity.items())
    annotations = {"mockkube.dev/capacity": text} if text else {}
    kept = {key: value for key, value in (metadata.get("annotations") or {}).items() if "price" in key}
    taints = [one for one in (node["spec"].get("taints") or ()) if not one["key"].startswith("node.kubernetes.io/")]
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {**kept, **annotations}},
        "spec": {"taints": taints} if taints else {},
    }


def scale_curve(text: str, factor: float) -> str:
    """Return a load curve with multiplied amounts."""
    words = []
    for word in text.split():
        amount, at, time = word.partition("@")
        if amount != "repeat":
            thousandths = ceil(parse(amount).amount * 1000 * round(factor * 1000) / 1000)
            amount = Quantity(parse(f"{thousandths}m").amount).text
        words.append(f"{amount}{at}{time}")
    return " ".join(words)


def _can_be_recreated(pod: ReadOnlyObject) -> bool:
    """Return whether a controller other than a DaemonSet creates a pod again."""
    return is_evicted_by_drain(pod) and bool(find_controller_kind(pod)) and bool(pod["spec"].get("nodeName"))


def _zones_of(group: ReadOnlyObject) -> Sequence[str]:
    """Return the zones of a node group."""
    return group["spec"].get("zones") or ()


def _is_worker(node: ReadOnlyObject) -> bool:
    return _CONTROL_PLANE not in (node["metadata"].get("labels") or {})


def _has_labels(node: ReadOnlyObject, wanted: Mapping[str, str]) -> bool:
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _is_namespaced(group: str, kind: str) -> bool:
    return any(one.namespaced for one in KINDS if (one.group, one.kind) == (group, kind))


def _join(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
