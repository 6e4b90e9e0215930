"""Study of one gate: its effect, every half-way state, every order, and the rollback.

Each run has a control: the same steps and restarts on a cluster whose gate is on all the time. Differences from it are
the work of the gate alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Final

from mockkube.atlas.gate_cluster import TOUCHED, GateCluster, describe
from mockkube.atlas.gate_entry import (
    FlipVerdict,
    GateEntry,
    GateOrderResult,
    GateReader,
    GateStatus,
    HalfWayState,
    KepClaim,
    Rollback,
)
from mockkube.atlas.gate_history import list_stages
from mockkube.atlas.gate_plan import make_plan
from mockkube.atlas.gate_readers import find_readers
from mockkube.atlas.gate_trial import GateTrial, OnComponents, make_trial
from mockkube.atlas.gate_workload import GateWorkload
from mockkube.atlas.outcome import Outcome, read_outcome
from mockkube.atlas.outcome_differences import describe_another_way, list_differences
from mockkube.atlas.passed_states import judge_passed_states
from mockkube.explore.exploration import Exploration, SafetyVerdict, explore_plan
from mockkube.explore.plans.plan import Direction
from mockkube.explore.players import SequentialPlayer
from mockkube.explore.replay import without_logs
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass

_LOCKED: Final = "locked in every release from 1.33 to 1.37: no component starts with the gate off"
_NO_WORKLOAD: Final = "a simulated component reads the gate, but no workload for it is written"
_RESTARTS: Final = "restartCount`"
# Runs a cluster, and returns its outcome.
_Play = Callable[[GateCluster], Awaitable[None]]


def study_gate(workload: GateWorkload | None, gate: str, reason: str = "", kep: KepClaim | None = None) -> GateEntry:
    """Return the entry of a gate; `reason` says why nothing simulated reads it."""
    stages, readers = list_stages(gate), find_readers().get(gate, {})
    entry = GateEntry(
        gate,
        stages,
        GateStatus.NOT_SIMULATED,
        reason=reason or _NO_WORKLOAD,
        readers=tuple(GateReader(name, modules) for name, modules in readers.items()),
        kep=kep,
    )
    if workload is None:
        return entry
    entry = replace(entry, feature=workload.feature)
    trial = make_trial(workload)
    if trial is None:
        return replace(entry, status=GateStatus.LOCKED, reason=_LOCKED)
    entry = replace(entry, version=str(trial.version), base=trial.base)
    if workload.unobservable:
        return replace(entry, status=GateStatus.UNOBSERVABLE, reason=workload.unobservable)
    with without_logs():
        return _Study(trial).run(replace(entry, status=GateStatus.PLAYED, reason=""))


@dataclass(slots=True)
class _Study:
    """Plays the runs of one gate."""

    trial: GateTrial

    def run(self, entry: GateEntry) -> GateEntry:
        """Play everything; return the entry with the results."""
        outcomes = {state: self._play(state, _use) for state in self.trial.list_states()}
        exercised = tuple(name for name in self.trial.components if _matters(name, outcomes))
        readers = tuple(replace(one, is_exercised=one.component in exercised) for one in entry.readers)
        on, off = outcomes[self.trial.all_on], outcomes[frozenset()]
        effect = tuple(_compare(off, on))
        if not exercised:
            return replace(entry, readers=readers)
        result = self._explore(exercised)
        states = tuple(self._describe_states(exercised, outcomes))
        up = [self._judge_up(order, result) for order in permutations(exercised)]
        down = self._judge_down_orders(exercised, result)
        return replace(
            entry,
            readers=readers,
            dropped=tuple(_list_dropped(off, on)),
            refused=tuple(name for name in off.refused if name not in on.refused),
            states=states,
            up=judge_passed_states(up, states, Direction.UP),
            down=judge_passed_states(down, states, Direction.DOWN),
            rollback=self._roll_back(exercised, effect),
            paths=result.path_count,
        )

    def _play(self, on: Collection[str], play: _Play) -> Outcome:
        async def play_once() -> Outcome:
            async with GateCluster(self.trial, on) as cluster:
                await play(cluster)
                return await read_outcome(cluster)

        return asyncio.run(play_once())

    def _explore(self, exercised: Sequence[str]) -> Exploration:
        """Explore the orders of the components that the workload exercises."""
        plan = make_plan(replace(self.trial, components=tuple(exercised)))
        return explore_plan(plan, SequentialPlayer(plan))

    # Half-way states

    def _describe_states(
        self, exercised: Sequence[str], outcomes: Mapping[OnComponents, Outcome]
    ) -> list[HalfWayState]:
        """Describe each state of the exercised components; the others make no difference, and have the gate on."""
        rest = self.trial.all_on - set(exercised)
        on, off = outcomes[self.trial.all_on], outcomes[frozenset()]
        found: list[HalfWayState] = []
        for state in self.trial.list_states():
            if not rest <= state:
                continue
            outcome = outcomes[state]
            like = "on" if outcome == on else "off" if outcome == off else ""
            named = tuple(name for name in exercised if name in state)
            found.append(HalfWayState(named, like, tuple(_compare(outcome, on))))
        return found

    # Orders

    def _judge_up(self, order: Sequence[str], result: Exploration) -> GateOrderResult:
        outcome = self._play(self._others(order), partial(_go_up, order=order, gain=order))
        control = self._play(self.trial.all_on, partial(_go_up, order=order, gain=()))
        return _make_result(result, Direction.UP, order, list_differences(outcome, control))

    def _judge_down_orders(self, exercised: Sequence[str], result: Exploration) -> list[GateOrderResult]:
        """Judge orders down; the effects of a rollback of all components at once are no fault of an order."""
        orders = list(permutations(exercised))
        outcomes = [self._play(self.trial.all_on, partial(_go_down, order=order)) for order in orders]
        at_once = self._play(self.trial.all_on, partial(_go_down_at_once, components=exercised))
        return [
            _make_result(result, Direction.DOWN, order, list_differences(outcome, at_once) if len(orders) > 1 else [])
            for order, outcome in zip(orders, outcomes, strict=True)
        ]

    def _others(self, exercised: Collection[str]) -> OnComponents:
        return self.trial.all_on - set(exercised)

    # Rollback

    def _roll_back(self, exercised: Sequence[str], effect: tuple[str, ...]) -> Rollback:
        found = asyncio.run(self._play_rollback(exercised, self._others(exercised)))
        control = asyncio.run(self._play_rollback(exercised, self.trial.all_on))
        existing = list_differences(found.changed, control.changed)
        updated = list_differences(found.updated, control.updated)
        later = [line for line in updated if line not in existing and TOUCHED not in line]
        refusals = [
            f"{name}: cannot be updated: {why}"
            for name, why in found.refused.items()
            # That an object is gone is said already.
            if name not in control.refused and f"{name}: missing" not in existing
        ]
        return Rollback(tuple(existing), (*refusals, *later), effect)

    async def _play_rollback(self, components: Sequence[str], on: OnComponents) -> "_PlayedRollback":
        """Use the feature, leave the gate on for some components, and update the objects afterwards."""
        async with GateCluster(self.trial, self.trial.all_on) as cluster:
            await cluster.use()
            await _change_at_once(cluster, components, on)
            changed = await read_outcome(cluster)
            refused = await _touch_all(cluster)
            await cluster.pause()
            return _PlayedRollback(changed, refused, await read_outcome(cluster))


@dataclass(frozen=True, slots=True)
class _PlayedRollback:
    """Run of a rollback: after the components have changed, and after users have updated their objects."""

    changed: Outcome
    # Updates that were refused, with the reason.
    refused: Mapping[str, str]
    updated: Outcome


async def _use(cluster: GateCluster) -> None:
    await cluster.use()


async def _go_up(cluster: GateCluster, order: Sequence[str], gain: Sequence[str]) -> None:
    """Change components in this order; those in `gain` get the gate, the others only restart.

    Users begin once the API server has changed, if it is one of them, and go on after each further change.
    """
    on = set(cluster.trial.all_on) - set(gain)
    begun = False
    for component in order:
        on.add(component)
        await cluster.change(component, on)
        if not begun and (API_SERVER not in order or component == API_SERVER):
            await cluster.create()
            begun = True
        await cluster.pause()
        if begun and cluster.trial.workload.actions:
            await cluster.play(cluster.trial.workload.actions, f"step after {component}")
            await cluster.pause()


async def _go_down(cluster: GateCluster, order: Sequence[str]) -> None:
    on = set(cluster.trial.all_on)
    await cluster.use()
    for component in order:
        on.discard(component)
        await cluster.change(component, on)
        await cluster.pause()


async def _go_down_at_once(cluster: GateCluster, components: Sequence[str]) -> None:
    """Change all components without a pause between them, and let as much time pass as in an order."""
    await cluster.use()
    await _change_at_once(cluster, components, cluster.trial.all_on - set(components))


async def _change_at_once(cluster: GateCluster, components: Sequence[str], on: OnComponents) -> None:
    for component in components:
        await cluster.change(component, on)
    for _ in components:
        await cluster.pause()


async def _touch_all(cluster: GateCluster) -> dict[str, str]:
    """Update another field of each object; return what is refused."""
    manifests = [one for one in cluster.trial.workload.workload if one["metadata"].get("name")]
    refused = {describe(one): await cluster.touch(one) for one in manifests}
    return {name: why for name, why in refused.items() if why}


def _compare(found: Outcome, expected: Outcome) -> list[str]:
    """Return how one outcome differs from another; if only in how it came about, the first such write."""
    if lines := list_differences(found, expected):
        return lines
    another_way = describe_another_way(found, expected)
    return [another_way] if another_way else []


def _list_dropped(off: Outcome, on: Outcome) -> Iterator[str]:
    for name, paths in off.dropped.items():
        kind = name.partition(" ")[0]
        yield from (f"{kind} {path}" for path in paths if path not in on.dropped.get(name, ()))


def _matters(component: str, outcomes: Mapping[OnComponents, Outcome]) -> bool:
    """Return whether the gate of a component makes a difference in any state of the others."""
    return any(component not in state and outcomes[state] != outcomes[state | {component}] for state in outcomes)


def _make_result(
    result: Exploration, direction: Direction, order: Sequence[str], differences: Sequence[str]
) -> GateOrderResult:
    found = next(
        one for one in result.orders if one.direction is direction and one.order == tuple(order) and not one.prepares
    )
    # How often a container has restarted by now depends on the moments at which its kubelet restarts.
    differences = [line for line in differences if _RESTARTS not in line]
    breaks = tuple(f"{one.invariant}: {one.text}" for one in found.worst.breaks)
    if found.verdict is SafetyVerdict.UNSAFE:
        verdict = FlipVerdict.UNSAFE
    else:
        verdict = FlipVerdict.DIFFERS if differences else FlipVerdict.SAFE
    return GateOrderResult(tuple(order), verdict, dict(found.worst.harm.nonzero_counts()), breaks, tuple(differences))
