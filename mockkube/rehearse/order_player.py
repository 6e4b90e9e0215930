"""Player of one order on a simulated cluster that starts from the import: steps, drains, and what they do to pods."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.cluster.execution.step_trace import OPERATOR, TraceStep
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.features.components import KUBELET
from mockkube.importing.movements import open_imported_cluster
from mockkube.lazy_dataclasses import dataclass
from mockkube.rehearse.findings import name_object
from mockkube.rehearse.node_drain import drain_node, uncordon_node
from mockkube.rehearse.upgrade import Upgrade
from mockkube.rehearse.upgrade_orders import UpgradeOrder, UpgradeStep
from mockkube.runtime.steps import LivelockError

PAUSE_SECONDS: Final = 60.0
# Nodes of a pool whose drain is played; the checks of drains read the pods of all.
NODES_MAX: Final = 10
_PODS: Final = "core/pods"


@dataclass(frozen=True, slots=True)
class UpgradeStepResult:
    """Result of one step."""

    step: UpgradeStep
    evicted: int = 0
    # Pods that no eviction moved, with the reason.
    blocked: tuple[str, ...] = ()
    # Pods that are pending after the step and were not before it, with the scheduler's message.
    pending: tuple[str, ...] = ()
    # Pods that a kubelet rejected or that failed.
    failed: tuple[str, ...] = ()
    # Components that do not run, with the reason.
    broken: tuple[str, ...] = ()
    # Pods that ended without a drain.
    ended: tuple[str, ...] = ()
    # Number of nodes of the pool that were not played.
    skipped_nodes: int = 0

    @property
    def is_safe(self) -> bool:
        """Return whether the step did no harm."""
        return not (self.blocked or self.pending or self.failed or self.broken or self.ended)

    def list_problems(self) -> Iterator[str]:
        """Yield what went wrong, a line each."""
        for title, texts in (
            ("not evicted", self.blocked),
            ("pending", self.pending),
            ("failed", self.failed),
            ("does not run", self.broken),
            ("ended without a drain", self.ended),
        ):
            yield from (f"{title}: {text}" for text in texts)


@dataclass(frozen=True, slots=True)
class OrderResult:
    """Result of an order up and of its way back."""

    order: UpgradeOrder
    up: tuple[UpgradeStepResult, ...]
    back: tuple[UpgradeStepResult, ...]

    @property
    def is_safe(self) -> bool:
        """Return whether the upgrade did no harm."""
        return all(one.is_safe for one in self.up)

    @property
    def is_reversible(self) -> bool:
        """Return whether upgrade and rollback did no harm."""
        return all(one.is_safe for one in self.back)


async def play_order(upgrade: Upgrade, order: UpgradeOrder, back: UpgradeOrder) -> OrderResult:
    """Play an order and the way back."""
    async with open_imported_cluster(upgrade.contents) as cluster:
        player = _OrderPlayer(upgrade, cluster)
        await player.prepare()
        up = [await player.play_step(step) for step in order]
        down = [await player.play_step(step, going_back=True) for step in back]
    return OrderResult(order, tuple(up), tuple(down))


class _OrderPlayer:
    """Plays steps on one cluster."""

    def __init__(self, upgrade: Upgrade, cluster: SimulatedCluster) -> None:
        self._upgrade, self._cluster = upgrade, cluster
        self._client: Client = cluster.client()

    async def prepare(self) -> None:
        """Let the cluster come to rest, so that its own movements are not counted as those of a step."""
        await self._cluster.advance(PAUSE_SECONDS)

    async def play_step(self, step: UpgradeStep, *, going_back: bool = False) -> UpgradeStepResult:
        """Play a step and return what it did."""
        before = await self._list_pods()
        first = len(self._cluster.trace.steps)
        blocked: list[str] = []
        broken: list[str] = []
        skipped = 0
        try:
            if step.pool:
                nodes = choose_nodes(step.nodes, before)
                skipped = len(step.nodes) - len(nodes)
                for node in nodes:
                    blocked += await self._upgrade_node(node, step)
            else:
                await self._change(step.component, step, going_back=going_back)
            await self._cluster.advance(PAUSE_SECONDS)
        except LivelockError as error:
            broken.append(str(error))
        broken += [f"{name}: {why}" for name, why in self._cluster.find_failed_components().items()]
        return await self._make_result(step, before, first, blocked, broken, skipped)

    async def _change(self, component: str, step: UpgradeStep, *, going_back: bool) -> None:
        """Give a component its version, with the gates that it starts with there."""
        if going_back or step.version != self._upgrade.to:
            gates = self._upgrade.gates_of(component)
        else:
            gates = self._upgrade.startable_gates(component)
        present = self._cluster.get_component_specs().get(component)
        old = {} if present is None else present.settings.feature_gates
        await self._cluster.change_component(
            component, version=str(step.version), gates={**dict.fromkeys(old), **gates}
        )

    async def _upgrade_node(self, node: str, step: UpgradeStep) -> list[str]:
        """Drain a node, upgrade its kubelet, and let it take pods again; return the pods that stay."""
        blocked = await drain_node(self._cluster, node)
        component = f"{KUBELET}.{node}"
        await self._cluster.change_component(
            component, version=str(step.version), gates=self._upgrade.startable_gates(KUBELET) or None
        )
        await self._cluster.advance(PAUSE_SECONDS / 6)
        await uncordon_node(self._cluster, node)
        await self._cluster.advance(PAUSE_SECONDS / 6)
        return blocked

    async def _list_pods(self) -> Sequence[ReadOnlyObject]:
        return (await self._client.list("Pod")).items

    async def _make_result(
        self,
        step: UpgradeStep,
        before: Sequence[ReadOnlyObject],
        first: int,
        blocked: Sequence[str],
        broken: Sequence[str],
        skipped: int,
    ) -> UpgradeStepResult:
        pods = await self._list_pods()
        waited = {pod["metadata"]["uid"] for pod in before if _is_pending(pod)}
        over = {pod["metadata"]["uid"] for pod in before if _is_failed(pod)}
        steps = self._cluster.trace.steps[first:]
        evicted, ended = _count_ends(steps, drains=bool(step.pool))
        return UpgradeStepResult(
            step,
            evicted,
            tuple(dict.fromkeys(blocked)),
            tuple(_describe(pod) for pod in pods if _is_pending(pod) and pod["metadata"]["uid"] not in waited),
            tuple(_describe(pod) for pod in pods if _is_failed(pod) and pod["metadata"]["uid"] not in over),
            tuple(broken),
            tuple(ended),
            skipped,
        )


def choose_nodes(nodes: Sequence[str], pods: Sequence[ReadOnlyObject]) -> list[str]:
    """Return the nodes whose drain is played: of a large pool, those with the most different controllers."""
    if len(nodes) <= NODES_MAX:
        return list(nodes)
    owners: dict[str, set[str]] = {name: set() for name in nodes}
    for pod in pods:
        name = (pod.get("spec") or {}).get("nodeName", "")
        if name in owners:
            owners[name].update(one.get("uid", "") for one in pod["metadata"].get("ownerReferences") or ())
    # Greedily, so that each chosen node adds controllers that the others do not have.
    chosen: list[str] = []
    seen: set[str] = set()
    while len(chosen) < NODES_MAX:
        best = max((name for name in nodes if name not in chosen), key=lambda name: len(owners[name] - seen))
        chosen.append(best)
        seen |= owners[best]
    return chosen


def _count_ends(steps: Sequence[TraceStep], *, drains: bool) -> tuple[int, list[str]]:
    """Return how many pods were evicted by operators, and the names of running pods that components ended."""
    evicted, ended = 0, []
    for step in steps:
        for write in step.writes:
            if write.resource != _PODS or write.verb == "create":
                continue
            before, now = write.load_previous() or {}, write.load_object()
            begins = now["metadata"].get("deletionTimestamp") and not (before.get("metadata") or {}).get(
                "deletionTimestamp"
            )
            if not begins:
                continue
            if step.worker == OPERATOR:
                evicted += 1
            elif (before.get("status") or {}).get("phase") == "Running" and not drains:
                ended.append(f"{write.name}: {step.worker}")
    return evicted, ended


def _is_pending(pod: ReadOnlyObject) -> bool:
    return not pod["spec"].get("nodeName") and (pod.get("status") or {}).get("phase") == "Pending"


def _is_failed(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Failed"


def _describe(pod: ReadOnlyObject) -> str:
    status = pod.get("status") or {}
    conditions = [one for one in status.get("conditions") or () if one.get("type") == "PodScheduled"]
    why = status.get("message") or status.get("reason") or "".join(one.get("message", "") for one in conditions)
    owner = next((one["name"] for one in pod["metadata"].get("ownerReferences") or ()), name_object(pod))
    return f"pod of {pod['metadata'].get('namespace', '')}/{owner.rpartition('/')[2]}: {why}"
