"""Conclusions from an exploration: orders by verdict, by harm and by version skew policy."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from mockkube.explore.exploration import Exploration, OrderVerdict, SafetyVerdict
from mockkube.explore.observation.operator_intent import OperatorIntent
from mockkube.explore.plans.plan import Direction, Order, RolloutPlan
from mockkube.explore.reasons import lacks_support
from mockkube.features import skew
from mockkube.features.components import API_SERVER
from mockkube.features.versions import Version

# Scores count every pod in every step, so they are coarse: only a clear gap tells two groups of orders apart.
_GAP: Final = 1.5


def changes_versions(plan: RolloutPlan) -> bool:
    """Return whether versions change at all; else the version skew policy does not apply."""
    return any(one.before.version != one.after.version for one in plan.changes)


def find_unsupported(plan: RolloutPlan, direction: Direction, order: Order) -> Sequence[str]:
    """Return the reasons why the version skew policy does not support a mix of versions within an order."""
    other = Direction.DOWN if direction is Direction.UP else Direction.UP
    versions = {one.component: _version(plan, one.setting_for(other).version) for one in plan.changes}
    return list(dict.fromkeys(_unsupported_mixes(plan, direction, order, versions)))


def _unsupported_mixes(
    plan: RolloutPlan, direction: Direction, order: Order, versions: dict[str, Version]
) -> Iterator[str]:
    # After the last change there is no mix left.
    for component in order[:-1]:
        versions[component] = _version(plan, plan.find_change(component).setting_for(direction).version)
        yield from (one.reason for one in skew.find_unsupported(versions))


def _version(plan: RolloutPlan, text: str | None) -> Version:
    return Version.parse(text) if text else plan.version


class Conclusions:
    """Orders of one exploration, sorted and compared."""

    def __init__(self, result: Exploration) -> None:
        self.result = result
        self.plan = result.plan

    def unprepared(self, direction: Direction) -> list[OrderVerdict]:
        """Return the orders without a preparation of the workloads."""
        return [one for one in self.result.list_verdicts(direction) if not one.prepares]

    def prepared(self) -> list[OrderVerdict]:
        """Return the orders down that begin with a preparation of the workloads."""
        return [one for one in self.result.list_verdicts(Direction.DOWN) if one.prepares]

    def safe(self, direction: Direction) -> list[OrderVerdict]:
        """Return the safe orders without a preparation."""
        return self._with_verdict(direction, SafetyVerdict.SAFE)

    def untried(self, direction: Direction) -> list[OrderVerdict]:
        """Return the orders without a preparation in which nothing was tried."""
        return self._with_verdict(direction, SafetyVerdict.NOT_TRIED)

    def unsafe(self, direction: Direction) -> list[OrderVerdict]:
        """Return the unsafe orders without a preparation."""
        return self._with_verdict(direction, SafetyVerdict.UNSAFE)

    def _with_verdict(self, direction: Direction, verdict: SafetyVerdict) -> list[OrderVerdict]:
        return [one for one in self.unprepared(direction) if one.verdict is verdict]

    def not_exercised(self, direction: Direction) -> Order:
        """Return the components whose change nothing exercised, in a direction in which others were exercised."""
        names = self.result.not_exercised(direction)
        return () if len(names) == len(self.plan.components) else names

    def group_by_harm(self, direction: Direction) -> list[list[OrderVerdict]]:
        """Return the unsafe orders in groups of about equal harm, the least harmful group first."""
        groups: list[list[OrderVerdict]] = []
        for one in sorted(self.unsafe(direction), key=lambda one: one.worst.harm.score):
            if not groups or one.worst.harm.score > groups[-1][-1].worst.harm.score * _GAP:
                groups.append([])
            groups[-1].append(one)
        return groups

    def is_supported(self, direction: Direction, order: Order) -> bool:
        """Return whether the version skew policy supports every mix of versions within an order."""
        return not find_unsupported(self.plan, direction, order)

    @cached_property
    def example_up(self) -> OrderVerdict:
        """The order up that serves as example: safe, supported and from a document, where there is such an order."""
        return self._example(Direction.UP, ())

    @cached_property
    def example_down(self) -> OrderVerdict:
        """The order down that serves as example; preferably not the same as the order up."""
        return self._example(Direction.DOWN, self.example_up.order)

    def _example(self, direction: Direction, other: Order) -> OrderVerdict:
        candidates = self.safe(direction) or self.untried(direction) or self.group_by_harm(direction)[0]
        return min(
            candidates,
            key=lambda one: (
                not self.is_supported(direction, one.order),
                not one.written_orders,
                one.order == other,
                one.order != tuple(reversed(other)),
            ),
        )

    @property
    def independent(self) -> bool:
        """True if each order down did the same harm after every order up."""
        scores: dict[tuple[Order, str], set[int]] = {}
        for pair in self.result.pairs:
            scores.setdefault((pair.down, pair.prepares), set()).add(pair.down_result.harm.score)
        return all(len(some) == 1 for some in scores.values())

    def all_workloads_need_change(self) -> bool:
        """Return whether every workload has tolerations that some component understands only after its change."""
        needs = [
            any(lacks_support(self.plan, one.component, one.before, workload) for one in self.plan.changes)
            for workload in OperatorIntent(self.plan).workloads
        ]
        return bool(needs) and all(needs)

    def is_refused_after_rollback(self, name: str) -> bool:
        """Return whether an API server before its change would refuse a workload."""
        server = next((one for one in self.plan.changes if one.component == API_SERVER), None)
        workload = next((one for one in OperatorIntent(self.plan).workloads if one.name == name), None)
        return (
            server is not None
            and workload is not None
            and lacks_support(self.plan, API_SERVER, server.before, workload)
        )
