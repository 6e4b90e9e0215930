"""Rehearsal: checks of the objects, and the supported orders played on the imported cluster."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.times import parse_time
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.rehearse.api_checks import check_apis
from mockkube.rehearse.component_checks import check_components
from mockkube.rehearse.drain_checks import check_drains
from mockkube.rehearse.findings import Finding, merge_findings
from mockkube.rehearse.object_checks import check_objects
from mockkube.rehearse.order_player import OrderResult, play_order
from mockkube.rehearse.release_notes import check_release_notes
from mockkube.rehearse.upgrade import COMPONENTS, Upgrade
from mockkube.rehearse.upgrade_orders import UpgradeOrder, UpgradeOrders, reverse_order, sort_orders
from mockkube.rehearse.webhook_checks import check_webhooks
from mockkube.runtime.virtual_time import EPOCH

# Orders that are played by default in clusters with up to so many objects; in larger ones fewer.
ORDERS_MAX: Final = 20
_SMALL_OBJECTS: Final = 1000
# With more objects, an order takes longer than most want to wait.
_PLAYED_OBJECTS_MAX: Final = 20_000
# Kinds that `kubectl get all` leaves out.
_HARMFUL_KINDS: Final = (
    "Node",
    "PodDisruptionBudget",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "CustomResourceDefinition",
)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Result of a rehearsal."""

    before: Version
    after: Version
    objects: int
    nodes: int
    findings: Sequence[Finding]
    # Every supported order; the first ones were played.
    orders: Sequence[UpgradeOrder]
    results: Sequence[OrderResult]
    pools: dict[str, list[str]] = field(default_factory=dict)
    # Gates to set in addition, by component.
    gates: dict[str, dict[str, bool]] = field(default_factory=dict)
    # Kinds that can break an upgrade, and of which the import has no object: the cluster may have some.
    absent: Sequence[str] = ()

    @property
    def breaks(self) -> list[Finding]:
        """Findings of what breaks."""
        return [one for one in self.findings if one.breaks]

    @property
    def safe_orders(self) -> list[OrderResult]:
        """Played orders on which nothing went wrong; those with a safe way back first."""
        return sorted((one for one in self.results if one.is_safe), key=lambda one: not one.is_reversible)

    @property
    def is_safe(self) -> bool:
        """Return whether nothing breaks and an order is safe."""
        return not self.breaks and (bool(self.safe_orders) or not self.results)

    @property
    def recommended(self) -> UpgradeOrder:
        """The order of the runbook: a safe one, else the usual one."""
        safe = self.safe_orders
        return safe[0].order if safe else self.orders[0] if self.orders else ()


def _choose_orders_max(objects: int) -> int:
    """Return how many orders to play, so that a rehearsal takes minutes."""
    if objects > _PLAYED_OBJECTS_MAX:
        return 0
    return max(1, ORDERS_MAX * _SMALL_OBJECTS // max(objects, _SMALL_OBJECTS))


def check_upgrade(upgrade: Upgrade) -> list[Finding]:
    """Return the findings of all checks, without playing anything."""
    now = parse_time(upgrade.contents.time) if upgrade.contents.time else EPOCH
    return merge_findings(
        [
            *check_components(upgrade),
            *check_apis(upgrade),
            *check_objects(upgrade, now),
            *check_webhooks(upgrade),
            *check_release_notes(upgrade),
            *check_drains(upgrade),
        ]
    )


async def rehearse(
    upgrade: Upgrade,
    *,
    orders_max: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Rehearsal:
    """Check an upgrade, and play the supported orders, at most so many."""
    orders = sort_orders(list(UpgradeOrders(upgrade).list_orders()))
    if orders == [()]:
        orders = []
    if orders_max is None:
        orders_max = _choose_orders_max(len(upgrade.contents.entries))
    chosen = orders[:orders_max]
    results = []
    for number, order in enumerate(chosen):
        on_progress(number, len(chosen))
        results.append(await play_order(upgrade, order, reverse_order(order, upgrade)))
    return Rehearsal(
        upgrade.version,
        upgrade.to,
        len(upgrade.contents.entries),
        sum(map(len, upgrade.pools.values())),
        check_upgrade(upgrade),
        orders,
        results,
        upgrade.pools,
        {component: upgrade.added_gates(component) for component in COMPONENTS},
        [kind for kind in _HARMFUL_KINDS if not any(upgrade.list_kind(kind))],
    )
