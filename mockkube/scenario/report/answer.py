"""The answer of an exploration: what to do, as rules and in whole sentences; what leads a page and a review."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mockkube.scenario.explore import invariants
from mockkube.scenario.explore.orders import Turns
from mockkube.scenario.explore.plan import Order, Phase, WrittenOrder
from mockkube.scenario.explore.stepping import PATIENCE
from mockkube.scenario.explore.verdict import Exploration, OrderVerdict
from mockkube.scenario.report import retold
from mockkube.scenario.report.retold import Quiet, Retold
from mockkube.scenario.report.rules import Rule, rule_of
from mockkube.scenario.report.supported import concerned, forbidden
from mockkube.scenario.report.wording import Wording, listed, order_text, times
from mockkube.scenario.report.workloads import preparation

_GAP: Final = 1.5
"""Harm that is so many times as much is another league; what is nearer is about equal."""
SAID: Final = {
    invariants.TOLERATED_STAY: "running pods evicted or removed for taints that they tolerate",
    invariants.ADMITTED_SCHEDULABLE: "accepted pods stay Pending",
    invariants.BOUND_RUN: "pods rejected by their kubelet",
    invariants.FIELDS_KEPT: "fields lost",
    invariants.NO_HOT_LOOP: "pods made and lost over and over (a hot loop)",
    invariants.ROLLBACK_RESTORES: "running pods lost and not back at the end",
    invariants.REPLICAS_UP: "replicas missing at the end",
}
"""What it means for each invariant that it breaks."""


@dataclass(frozen=True, slots=True)
class League:
    """Orders that do about as much harm."""

    orders: tuple[OrderVerdict, ...]
    rule: Rule

    @property
    def least(self) -> int:
        """The score of the best."""
        return min(one.worst.harm.score for one in self.orders)

    @property
    def most(self) -> int:
        """The score of the worst."""
        return max(one.worst.harm.score for one in self.orders)

    @property
    def span(self) -> str:
        """Both."""
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


def broken(one: OrderVerdict) -> list[str]:
    """Return the invariants that an order breaks."""
    return list(dict.fromkeys(each.invariant for each in one.worst.breaks))


def said(names: Sequence[str]) -> str:
    """Return what it means that these break."""
    return "; ".join(SAID.get(name, f"`{name}` does not hold") for name in names)


_DONE_BY: Final = {
    "evicted": "evicted by the taint eviction of `kube-controller-manager`",
    "removed": "removed by the DaemonSet controller of `kube-controller-manager`",
    "rejected": "rejected by their `kubelet`",
}


class Answer:
    """An exploration with what is concluded from it."""

    def __init__(self, result: Exploration) -> None:
        self.result = result
        self.plan = result.plan
        self.words = Wording(result.plan)

    def plain(self, phase: Phase) -> list[OrderVerdict]:
        """Return the orders nobody has prepared for."""
        return [one for one in self.result.of(phase) if not one.prepares]

    def prepared(self) -> list[OrderVerdict]:
        """Return the ways back that somebody prepares."""
        return [one for one in self.result.of(Phase.DOWN) if one.prepares]

    def safe(self, phase: Phase) -> list[OrderVerdict]:
        """Return the orders that do no harm by themselves."""
        return [one for one in self.plain(phase) if one.safe]

    def rule(self, phase: Phase) -> Rule:
        """Return what all safe orders have in common."""
        return rule_of([one.order for one in self.safe(phase)], [one.order for one in self.plain(phase)])

    def leagues(self, phase: Phase) -> list[League]:
        """Return the orders that are not safe, the least harmful first, in groups that are about equal."""
        rest = [one for one in self.plain(phase) if not one.safe]
        every = [one.order for one in self.plain(phase)]
        groups: list[list[OrderVerdict]] = []
        for one in sorted(rest, key=lambda one: one.worst.harm.score):
            if not groups or one.worst.harm.score > groups[-1][-1].worst.harm.score * _GAP:
                groups.append([])
            groups[-1].append(one)
        return [League(tuple(some), rule_of([one.order for one in some], every)) for some in groups]

    def supported(self, phase: Phase, order: Order) -> bool:
        """Whether the version skew policy has nothing against an order."""
        return not forbidden(self.plan, phase, order)

    @cached_property
    def example_up(self) -> OrderVerdict:
        """The order up that is shown: safe, supported, written by somebody, if there is one."""
        return self._example(Phase.UP, self.safe(Phase.UP) or list(self.leagues(Phase.UP)[0].orders), ())

    @cached_property
    def example_down(self) -> OrderVerdict:
        """The order down that is shown; rather not that of the way up."""
        some = self.safe(Phase.DOWN) or list(self.leagues(Phase.DOWN)[0].orders)
        return self._example(Phase.DOWN, some, self.example_up.order)

    def _example(self, phase: Phase, some: Sequence[OrderVerdict], other: Order) -> OrderVerdict:
        return min(
            some,
            key=lambda one: (
                not self.supported(phase, one.order),
                not one.written,
                one.order == other,
                one.order != tuple(reversed(other)),
            ),
        )

    @cached_property
    def quiet(self) -> Quiet:
        """What happens on the way down when nobody disturbs anything, for the order that is shown and prepared ones."""
        downs = [(self.example_down.order, ""), *((one.order, one.prepares) for one in self.prepared())]
        return retold.undisturbed(self.plan, self.example_up.order, downs)

    @property
    def independent(self) -> bool:
        """Whether each way down came out the same whatever the way up was."""
        seen: dict[tuple[Order, str], set[int]] = {}
        for pair in self.result.pairs:
            seen.setdefault((pair.down, pair.prepares), set()).add(pair.falling.harm.score)
        return all(len(scores) == 1 for scores in seen.values())

    # In sentences

    def on(self, phase: Phase) -> Iterator[str]:
        """Yield what to do, the rule first."""
        if concerned(self.plan):
            yield from self._policy(phase)
        yield from self._rule(phase)
        if phase is Phase.DOWN:
            yield from self._prepared()
            yield from self._unprepared()
            yield from self._running()
        yield from self._claims(phase)
        if phase is Phase.UP:
            yield from self._refused()

    def _rule(self, phase: Phase) -> Iterator[str]:
        plain, safe, rule = self.plain(phase), self.safe(phase), self.rule(phase)
        whether = "Policy aside, to" if concerned(self.plan) else "To"
        verb = f"{whether} {self.words.verb(phase)}"
        if not safe:
            yield from self._none(phase)
            return
        if len(safe) == len(plain):
            yield f"**{verb}: in any order.** Each of the {len(plain)} orders is safe: nothing broke."
            return
        counts = f"{len(safe)} of the {len(plain)} orders are safe (no invariant broke)"
        if rule.exact:
            example = order_text((self.example_up if phase is Phase.UP else self.example_down).order)
            yield f"**{verb}: {rule.text}.** {counts}: exactly those that follow this rule, for example {example}."
        else:
            yield (
                f"**{verb}:** {counts}. What they have in common: {rule.text}; that alone is not enough, see the table."
            )
        leagues = self.leagues(phase)
        bad = list(dict.fromkeys(name for league in leagues for one in league.orders for name in broken(one)))
        yield f"In the other {len(plain) - len(safe)} orders one or more of these happened: {said(bad)}."
        if rule.momentary:
            yield (
                '"Right after it" counts on haste: such an order passes through a mix in which other orders break, '
                f"which was held here for {times(1 + len(self._every_step(phase)), 'pause')} of "
                f"{self.plan.seconds} s of "
                "virtual time and one course of events only. Do not stop in between; better take an order without it."
            )

    def _every_step(self, phase: Phase) -> list[str]:
        return [one.name for one in self.plan.disturbances if one.when == "every-step" and phase in one.phases]

    def _none(self, phase: Phase) -> Iterator[str]:
        using = " while workloads use it" if phase is Phase.DOWN and self.words.gates else ""
        plain = self.plain(phase)
        yield (
            f"**To {self.words.verb(phase)}: no order is safe{using}.** Each of the {len(plain)} orders broke "
            "something."
        )
        if phase is Phase.UP:
            yield from self._least(phase)

    def _unprepared(self) -> Iterator[str]:
        if not self.safe(Phase.DOWN):
            yield from self._least(Phase.DOWN)

    def _least(self, phase: Phase) -> Iterator[str]:
        """Say which orders do least harm; not which one: a few points say nothing."""
        plain, leagues = self.plain(phase), self.leagues(phase)
        first, rest = leagues[0], leagues[1:]
        if not rest:
            yield f"**All {len(plain)} orders are about equal** (harm {first.span}; how it is counted stands below)."
            return
        who = first.rule.text if first.rule.exact else f"{first.rule.text} (not all of those)"
        others = [one for league in rest for one in league.orders]
        more = [
            name
            for name in invariants.INVARIANTS
            if all(name in broken(one) for one in others) and not any(name in broken(one) for one in first.orders)
        ]
        yield (
            f"**Without preparation, the least harm: {who}.** These {len(first.orders)} orders are about equal (harm "
            f"{first.span}; how it is counted stands below): so small a difference says nothing, there is no winner "
            f"among them. The other {len(others)} do far more ({rest[0].least} to {rest[-1].most})"
            f"{f'; all of these also brought {said(more)}' if more else ''}."
        )

    def _policy(self, phase: Phase) -> Iterator[str]:
        plain = self.plain(phase)
        good = [one for one in plain if self.supported(phase, one.order)]
        if not good:
            yield "The version skew policy of Kubernetes supports none of these orders; it was not enforced here."
            return
        rule = rule_of([one.order for one in good], [one.order for one in plain])
        safe = sum(one.safe for one in good)
        which = (
            "all of them are safe"
            if safe == len(good)
            else f"{safe or 'none'} of them {'is' if safe == 1 else 'are'} safe"
        )
        verb = self.words.verb(phase)
        yield (
            f"**To {verb}: {rule.text}.** That is what the version skew policy of Kubernetes supports ({len(good)} of "
            f"the {len(plain)} orders), and {which}. The other orders were tried as well, the policy was not enforced: "
            "what is said of them is no advice to use them."
        )

    def _claims(self, phase: Phase) -> Iterator[str]:
        for written, one in self.result.written():
            if written.phase is phase and not written.prepare:
                yield self._claim(written, one)

    def _claim(self, written: WrittenOrder, one: OrderVerdict) -> str:
        stands = {True: ", said to be safe,", False: ", said to be harmful,", None: ""}[written.claim]
        found = "**is safe**" if one.safe else f"**is not safe**: {said(broken(one))}"
        return (
            f'The written order "{written.name}" ({order_text(one.order)}){stands} {found}.{self._completed(written)}'
        )

    def _deleting(self) -> str:
        """Say why the tables may count fewer evictions than that."""
        if not any("delete" in action for one in self.plan.disturbances for action in one.actions):
            return ""
        return (
            " (The tables below count with disturbances: a pod that a disturbance has deleted is not there to be "
            "evicted.)"
        )

    def _completed(self, written: WrittenOrder) -> str:
        """Point at the notes where an order may not be from its document alone."""
        return " (See the note on written orders below.)" if self.plan.notes and written.source else ""

    def _running(self) -> Iterator[str]:
        """Say what happens to pods that just run."""
        way = self.quiet.ways.get((self.example_down.order, ""))
        if way is None:
            return
        fates = list(fates_of(self.words, way))
        order = order_text(self.example_down.order)
        if not fates:
            yield f"Pods that just run, with nobody touching anything ({order}): none was evicted, removed or rejected."
            return
        kept = f"; {listed(f'`{name}`' for name in way.kept())} kept running" if way.kept() else ""
        yield (
            f"**Pods that just run are hit too**, with nobody deleting or changing anything ({order}): "
            f"{'; '.join(fates)}{kept}.{self._deleting()}"
        )

    def _prepared(self) -> Iterator[str]:
        """Say what is to be done to the workloads first, and whether that is enough."""
        for one in self.prepared():
            known = preparation(self.plan, one.prepares)
            if known is None:
                continue
            verb, order = self.words.verb(Phase.DOWN), order_text(one.order)
            rest = f"; {listed(f'`{name}`' for name in known.untouched)}: nothing" if known.untouched else ""
            told = f"{'; '.join(known.lines)}{rest}. Wait until that is done, then {order}"
            if one.safe:
                yield (
                    f"**To {verb} safely, prepare the workloads first:** {told}. That is the order of "
                    f'"{one.prepares}", '
                    f"the only one tried with this preparation; it was safe after each of the "
                    f"{len(self.plain(Phase.UP))} ways up."
                )
            else:
                yield f"**Preparing the workloads is not enough:** {told}. Still it brought {said(broken(one))}."

    def _refused(self) -> Iterator[str]:
        """Say who cannot be used before what has changed, on the safe way up: that is not counted as harm."""
        way = next(iter(self.quiet.ways.values()), None)
        if way is None:
            return
        last, names = 0, dict[str, None]()
        for index, stage in enumerate(way.stages):
            if isinstance(stage.told.move, Turns):
                break
            found = [text.partition(":")[0].lower() for text in stage.told.refused]
            names.update(dict.fromkeys(found))
            last = index + 1 if found else last
        if names:
            until = self.words.move(way.moves[last])
            yield (
                f'On a safe way up users must wait: until "{until}" the API server refuses '
                f"{listed(f'`{name}`' for name in names)}. That is not counted as harm."
            )

    def again(self) -> str:
        """Say what happens when all change once more after each way back."""
        order, seconds = order_text(tuple(reversed(self.plan.components))), PATIENCE * self.plan.seconds
        bad = [one for one in self.result.pairs if one.again.breaks]
        verb = self.words.verb(Phase.UP)
        told = (
            f"**To {verb} once more** after the way back (always {order}), without an edit to any workload: "
            f"{seconds} s of virtual time after the last component every workload had all its pods ready in "
        )
        if not bad:
            return f"{told}all {len(self.result.pairs)} combinations."
        names = sorted({each.invariant for one in bad for each in one.again.breaks})
        good = len(self.result.pairs) - len(bad)
        return f"{told}{good} of {len(self.result.pairs)} combinations; in the others broke: {', '.join(names)}."


def fates_of(words: Wording, way: Retold) -> Iterator[str]:
    """Yield what was done to the running pods of each workload, by whom and when."""
    owned = list(way.ran.values())
    grouped: dict[tuple[str, str, int], list[float]] = {}
    for stage, fact in way.taken():
        key = fact.of, _DONE_BY[fact.harm], way.stages.index(stage)
        grouped.setdefault(key, []).append(fact.at - stage.told.began)
    for (name, done, index), waits in sorted(grouped.items()):
        soon = "at once" if min(waits) < 1 else f"after {min(waits):.0f} s"
        step = words.move(way.stages[index].told.move)
        yield f'`{name}`: {len(waits)} of {owned.count(name)} {done} {soon} at the step "{step}"'
