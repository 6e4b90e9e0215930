"""Orders of an upgrade that the version skew policy supports: the control plane moves by one minor version a step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from mockkube.features.components import KUBELET
from mockkube.features.skew import find_unsupported
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.rehearse.upgrade import CONTROL_PLANE, Upgrade


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """One step: a component, or the kubelets of a pool of nodes, gets a version."""

    # Name of a component, or `kubelet`.
    component: str
    version: Version
    # Pool whose kubelets change; empty for other components.
    pool: str = ""
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"kubelets of {self.pool}" if self.pool else self.component
        return f"{what} to {self.version}"


UpgradeOrder = tuple[UpgradeStep, ...]


class UpgradeOrders:
    """Orders of an upgrade: API servers first, the other components and the pools in any order afterwards.

    Replicas of the API server are alike, so that they change in the order of their names; pools change in their order.
    Kubelets go to the new version at once, unless they would be too old for an API server in between.
    """

    def __init__(self, upgrade: Upgrade) -> None:
        self._upgrade = upgrade
        self._pools = {_name_pool(pool): (pool, nodes) for pool, nodes in self.waves}
        # Control plane by component, kubelets by pool.
        self.versions: dict[str, Version] = {
            **{name: upgrade.version_of(name) for name in (*upgrade.api_servers, *CONTROL_PLANE)},
            **{name: upgrade.find_oldest_kubelet(nodes) for name, (_, nodes) in self._pools.items()},
        }

    @cached_property
    def waves(self) -> list[tuple[str, tuple[str, ...]]]:
        """Pools with the nodes whose kubelets are older than the new version."""
        pools = ((name, self._upgrade.find_outdated(nodes)) for name, nodes in self._upgrade.pools.items())
        return [(name, tuple(nodes)) for name, nodes in pools if nodes]

    def list_orders(self) -> Iterator[UpgradeOrder]:
        """Yield every supported order."""
        yield from self._extend((), self.versions)

    def _extend(self, order: UpgradeOrder, versions: Mapping[str, Version]) -> Iterator[UpgradeOrder]:
        if all(version >= self._upgrade.to for version in versions.values()):
            yield order
            return
        steps = self._select_supported([*self._next_components(versions), *self._next_pool(versions)], versions)
        for step in steps or self._select_supported(self._next_pool(versions, early=True), versions):
            yield from self._extend((*order, step), {**versions, _name_step(step): step.version})

    def _select_supported(self, steps: Iterable[UpgradeStep], versions: Mapping[str, Version]) -> list[UpgradeStep]:
        return [step for step in steps if not find_unsupported({**versions, _name_step(step): step.version})]

    def _next_components(self, versions: Mapping[str, Version]) -> Iterator[UpgradeStep]:
        """Yield the next minor version of each component that is not at the new one."""
        oldest = min(versions[name] for name in self._upgrade.api_servers)
        # Of servers at the same version the first one goes first: the others would be the same order again.
        first = next(name for name in self._upgrade.api_servers if versions[name] == oldest)
        for name in (first, *CONTROL_PLANE):
            if versions[name] < self._upgrade.to:
                yield UpgradeStep(name, Version(versions[name].major, versions[name].minor + 1))

    def _next_pool(self, versions: Mapping[str, Version], *, early: bool = False) -> Iterator[UpgradeStep]:
        """Yield the step of the next pool: to the new version, or early to that of the oldest API server."""
        to = min(versions[name] for name in self._upgrade.api_servers) if early else self._upgrade.to
        name = min((name for name in self._pools if versions[name] < to), key=lambda name: versions[name], default="")
        if name:
            pool, nodes = self._pools[name]
            yield UpgradeStep(KUBELET, to, pool, nodes)


def _name_pool(pool: str) -> str:
    return f"{KUBELET}.{pool}"


def _name_step(step: UpgradeStep) -> str:
    """Return what a step changes: a component, or the kubelets of a pool."""
    return _name_pool(step.pool) if step.pool else step.component


def sort_orders(orders: Sequence[UpgradeOrder]) -> list[UpgradeOrder]:
    """Return the orders with the usual one first: controller manager and scheduler before the kubelets."""
    return sorted(orders, key=lambda order: [(bool(step.pool), step.component) for step in order])


def reverse_order(order: UpgradeOrder, upgrade: Upgrade) -> UpgradeOrder:
    """Return the way back: the same steps from the last to the first, each to the version before it."""
    back = []
    for index in reversed(range(len(order))):
        step = order[index]
        earlier = [one.version for one in order[:index] if (one.component, one.pool) == (step.component, step.pool)]
        start = upgrade.find_oldest_kubelet(step.nodes) if step.pool else upgrade.version_of(step.component)
        version = earlier[-1] if earlier else start
        back.append(UpgradeStep(step.component, version, step.pool, step.nodes))
    return tuple(back)
