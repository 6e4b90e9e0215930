"""Answer of an exploration in sentences: in which order to change components, and what happens otherwise."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from mockkube.explore.conclusions import Conclusions, changes_versions
from mockkube.explore.exploration import Exploration, OrderVerdict, SafetyVerdict
from mockkube.explore.path_runner import RETRY_PAUSES
from mockkube.explore.plans.orders import TurnMove
from mockkube.explore.plans.plan import Direction, WrittenOrder
from mockkube.explore.replay import Evidence, Replay
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.sentences import undisturbed
from mockkube.report.sentences.break_descriptions import broken_invariants, describe_breaks, join_breaks
from mockkube.report.sentences.order_rules import Rule, find_rule
from mockkube.report.sentences.workloads import Preparation, find_preparation
from mockkube.report.wording import SHORT, Wording, count_noun, format_order, join_words

NOTHING_HAPPENED: Final = (
    "nothing was created, changed or restarted once a component had changed, so nothing can be said; give the plan a "
    "disturbance"
)
NOT_EXERCISED: Final = "no pod and no write was subject to its decisions once it had changed"


@dataclass(frozen=True, slots=True)
class HarmGroup:
    """Orders that do about equal harm, and the rule that they have in common."""

    orders: tuple[OrderVerdict, ...]
    rule: Rule

    @property
    def least(self) -> int:
        """The lowest score."""
        return min(one.worst.harm.score for one in self.orders)

    @property
    def most(self) -> int:
        """The highest score."""
        return max(one.worst.harm.score for one in self.orders)

    @property
    def span(self) -> str:
        """Lowest and highest score as text."""
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


class Answer(Conclusions):
    """Conclusions from an exploration as sentences."""

    def __init__(self, result: Exploration, evidence: Evidence | None = None) -> None:
        super().__init__(result)
        self.words = Wording(result.plan)
        self._undisturbed = evidence.undisturbed.by_order if evidence is not None else {}
        self.undisturbed_harm = evidence.undisturbed.harm if evidence is not None else None

    def rule(self, direction: Direction) -> Rule:
        """Return the rule that all safe orders have in common."""
        return find_rule([one.order for one in self.safe(direction)], [one.order for one in self.unprepared(direction)])

    def harm_groups(self, direction: Direction) -> list[HarmGroup]:
        """Return the unsafe orders in groups of about equal harm, the least harmful group first."""
        every = [one.order for one in self.unprepared(direction)]
        return [HarmGroup(tuple(some), find_rule([one.order for one in some], every))
                for some in self.group_by_harm(direction)]  # fmt: skip

    @property
    def first_undisturbed(self) -> Replay | None:
        """One replay without disturbances; all of them have the same direction up."""
        return next(iter(self._undisturbed.values()), None)

    # In sentences

    def answer_sentences(self, direction: Direction) -> Iterator[str]:
        """Yield the answer for one direction, the rule that safe orders follow first."""
        if changes_versions(self.plan):
            yield from self._policy(direction)
        yield from self._rule(direction)
        if direction is Direction.DOWN:
            yield from self._prepared()
            yield from self._least_harm_down()
            yield from self._running_pods()
        yield from self._claims(direction)
        if direction is Direction.UP:
            yield from self._refused_meanwhile()
            yield from self._untested_pods()

    def _untested_pods(self) -> Iterator[str]:
        """Say that pods without need for the change were not tested, if the plan has none."""
        if self.all_workloads_need_change():
            yield "Pods that do not use it were not part of this test: all workloads here do."

    def describe_mechanism(self, direction: Direction) -> str:
        """Return in a line what orders have in common by the component that changes last (up) or first (down).

        Up, everything else has changed before the last component, so what is left is its own harm; down, the reverse.
        """
        orders, (place, word) = self.unprepared(direction), (-1, "last") if direction is Direction.UP else (0, "first")
        always = set.intersection(*(set(broken_invariants(one)) for one in orders))
        names = sorted({one.order[place] for one in orders})
        found = sorted((_shared_harm([one for one in orders if one.order[place] == name], always), name)
                       for name in names)  # fmt: skip
        parts = [f"{join_words((f'`{name}`' for _, name in group), 'or')} {word}: {text}"
                 for text, group in groupby(found, key=lambda one: one[0])]  # fmt: skip
        common = [each for one in orders for each in one.worst.breaks if each.invariant in always]
        every = f" All orders without preparation bring: {join_breaks(common)}." if common else ""
        return f"What breaks in every order with the same component {word}: {'; '.join(parts)}.{every}"

    def _rule(self, direction: Direction) -> Iterator[str]:
        plain, safe, rule = self.unprepared(direction), self.safe(direction), self.rule(direction)
        whether = "Ignoring the version skew policy, to" if changes_versions(self.plan) else "To"
        verb = f"{whether} {self.words.verb(direction)}"
        untried, unsafe = self.untried(direction), self.unsafe(direction)
        if not safe and not unsafe:
            yield f"**{verb}: not tried.** {NOTHING_HAPPENED[:1].upper()}{NOTHING_HAPPENED[1:]}."
            return
        if not safe:
            yield from self._no_safe_order(direction)
            yield from self._not_tried(direction)
            return
        if len(safe) == len(plain):
            yield f"**{verb}: in any order.** Each of the {len(plain)} orders is safe: nothing broke."
            yield from self._not_tried(direction)
            return
        yield from self._not_tried(direction)
        counts = f"{len(safe)} of the {len(plain)} orders {'is' if len(safe) == 1 else 'are'} safe (no invariant broke)"
        if rule.exact:
            example = format_order((self.example_up if direction is Direction.UP else self.example_down).order)
            # The advice is the strict rule; orders that follow it only by the exception are counted, not advised.
            if rule.needs_adjacent_changes:
                strict = f"**{verb}: {rule.strict_text}.** For example {example}."
                yield f"{strict} {counts}, exactly those with {rule.text}."
            else:
                which = example if len(safe) == 1 else f"exactly those that follow this rule, for example {example}"
                yield f"**{verb}: {rule.text}.** {counts}: {which}."
        else:
            yield (
                f"**{verb}:** {counts}. What they have in common: {rule.text}; that alone is not enough, see the table."
            )
        bad = [each for one in unsafe for each in one.worst.breaks]
        if unsafe:
            number = count_noun(len(unsafe), "order") if len(unsafe) > 1 or untried else "order"
            some = "one or more of these happened" if len(unsafe) > 1 else "this happened"
            yield f"In {'' if untried else 'the other '}{number} {some}: {join_breaks(bad)}."
        if rule.needs_adjacent_changes:
            yield (
                'Orders with "right after it" pass through a mix of versions or gates in which other orders break; '
                f"here that mix lasted only {count_noun(1 + len(self._every_step(direction)), 'pause')} of "
                f"{self.plan.seconds} s of virtual time. "
                "Prefer an order without such a mix; otherwise do not pause there."
            )

    def _not_tried(self, direction: Direction) -> Iterator[str]:
        """Say which orders and which components were not tried."""
        if untried := self.untried(direction):
            were, them = ("was", "it") if len(untried) == 1 else ("were", "them")
            yield f"**{count_noun(len(untried), 'order')} {were} not tried:** in {them} {NOTHING_HAPPENED}."
        if names := self.not_exercised(direction):
            belong = "it belongs" if len(names) == 1 else "they belong"
            which = join_words(f"`{name}`" for name in names)
            yield f"**Not tried: {which}** ({NOT_EXERCISED}). Nothing here says where in an order {belong}."

    def _every_step(self, direction: Direction) -> list[str]:
        return [one.name for one in self.plan.disturbances if one.when == "every-step" and direction in one.directions]

    def _no_safe_order(self, direction: Direction) -> Iterator[str]:
        using = " while workloads use it" if direction is Direction.DOWN and self.words.gates else ""
        plain, unsafe = self.unprepared(direction), self.unsafe(direction)
        which = (
            f"Each of the {len(plain)} orders" if len(unsafe) == len(plain) else f"{len(unsafe)} of {len(plain)} orders"
        )
        yield f"**To {self.words.verb(direction)}: no order is safe{using}.** {which} broke something."
        if direction is Direction.UP:
            yield from self._least_harm(direction)

    def _least_harm_down(self) -> Iterator[str]:
        if self.unsafe(Direction.DOWN) and not self.safe(Direction.DOWN):
            yield from self._least_harm(Direction.DOWN)

    def _least_harm(self, direction: Direction) -> Iterator[str]:
        """Say which group of orders does least harm; within a group the difference is too small to count."""
        plain, groups = self.unprepared(direction), self.harm_groups(direction)
        first, rest = groups[0], groups[1:]
        if not rest:
            yield f"**All {len(plain)} orders are about equal** (harm {first.span}, defined below)."
            return
        rule = first.rule.text if first.rule.exact else f"{first.rule.text} (not all of those)"
        others = [one for group in rest for one in group.orders]
        in_all = set.intersection(*(set(broken_invariants(one)) for one in others))
        alone = in_all - {name for one in first.orders for name in broken_invariants(one)}
        more = [each for one in others for each in one.worst.breaks if each.invariant in alone]
        equal = (
            f"This order has harm {first.span} (defined below)."
            if len(first.orders) == 1
            else f"These {len(first.orders)} orders are about equal (harm {first.span}, defined below): the "
            "differences between them are not significant."
        )
        least, most = rest[0].least, rest[-1].most
        span = str(least) if least == most else f"{least} to {most}"
        others_cause = "The other order causes" if len(others) == 1 else f"The other {len(others)} orders cause"
        also = f"; additionally in {'it' if len(others) == 1 else 'all of these'}: {join_breaks(more)}" if more else ""
        yield f"**Without preparation, the least harm: {rule}.** {equal} {others_cause} more harm ({span}){also}."

    def _policy(self, direction: Direction) -> Iterator[str]:
        plain = self.unprepared(direction)
        good = [one for one in plain if self.is_supported(direction, one.order)]
        if not good:
            yield "The version skew policy of Kubernetes supports none of these orders; it was not enforced here."
            return
        rule = find_rule([one.order for one in good], [one.order for one in plain])
        safe = sum(one.is_safe for one in good)
        which = (
            "all of them are safe"
            if safe == len(good)
            else f"{safe or 'none'} of them {'is' if safe == 1 else 'are'} safe"
        )
        verb, storage = self.words.verb(direction), self._storage(direction)
        yield (
            f"**To {verb}: {rule.text}.** So the mixes of versions stay within the version skew policy of Kubernetes "
            f"({len(good)} of the {len(plain)} orders), and {which}.{storage} The other orders were tried as well, the "
            "policy was not enforced: their results are not a recommendation."
        )

    def _storage(self, direction: Direction) -> str:
        """Say that the skew policy does not cover stored objects, for the direction down."""
        if direction is Direction.UP:
            return ""
        return " The skew policy does not cover whether the older API server can read what the newer one stored."

    def _claims(self, direction: Direction) -> Iterator[str]:
        for written, one in self.result.list_written():
            if written.direction is direction and not written.prepare:
                yield self._claim(written, one)

    def _claim(self, written: WrittenOrder, one: OrderVerdict) -> str:
        stands = {True: ", claimed to be safe,", False: ", claimed to be harmful,", None: ""}[written.claim]
        found = {
            SafetyVerdict.SAFE: "**is safe**.",
            SafetyVerdict.NOT_TRIED: "**was not tried**: nothing happened once a component had changed.",
            SafetyVerdict.UNSAFE: f"**is not safe**: {join_breaks(one.worst.breaks)}.",
        }[one.verdict]
        named, added = written.order[: written.named], written.order[written.named :]
        order = format_order(named)
        if added:
            were = (
                "is not named there and was changed last" if len(added) == 1 else "are not named and were changed last"
            )
            order += f"; {join_words(SHORT.get(name, name) for name in added)} {were}"
        note = " See the [Note on documented orders](#note-on-documented-orders)." if self.plan.notes and added else ""
        return f'The order "{written.name}" ({order}){stands} {found}{self._similar_orders(written)}{note}'

    def _similar_orders(self, written: WrittenOrder) -> str:
        """Say how many orders that keep a written sequence are safe, in whatever place other components are."""
        named = written.order[: written.named]
        similar = [
            one
            for one in self.unprepared(written.direction)
            if tuple(name for name in one.order if name in named) == named
        ]
        if min(len(named), len(similar)) <= 1:
            return ""
        safe = sum(one.is_safe for one in similar)
        before = f"{len(similar)} orders with {' before '.join(f'`{name}`' for name in named)}"
        if safe == len(similar):
            return f" All {before} are safe."
        return f" Of all {before} {safe or 'none'} {'are' if safe > 1 else 'is'} safe."

    def _running_pods(self) -> Iterator[str]:
        """Say what happens to running pods without disturbances."""
        replay = self._undisturbed.get((self.example_down.order, ""))
        if replay is not None:
            others = len(self.unprepared(Direction.DOWN))
            back = not any(one.retry_result.breaks for one in self.result.pairs)
            yield from undisturbed.describe(self.words, replay, self.example_down.order, others=others, back=back)

    def _prepared(self) -> Iterator[str]:
        """Describe preparations of the workloads, and whether they are enough."""
        for one in self.prepared():
            known = find_preparation(self.plan, one.prepares)
            if known is None:
                continue
            verb, order = self.words.verb(Direction.DOWN), format_order(one.order)
            text = f"{'; '.join(known.lines)}.{known.values}{self._around_preparation(known)} Then {order}."
            count = len(self.unprepared(Direction.DOWN))
            tried = f'Of the {count} orders this is the one that was tried with this preparation ("{one.prepares}")'
            if one.verdict is SafetyVerdict.NOT_TRIED:
                yield f"**Preparing the workloads:** {text} {tried}. Nothing happened in it: safety was not tried."
            elif one.is_safe:
                source = f" This is what {known.written.source} says." if known.written.source else ""
                ups = len(self.unprepared(Direction.UP))
                yield (
                    f"**To {verb} safely, prepare the workloads first:** {text}{source} {tried}; it was safe after "
                    f"each of the {ups} orders to {self.words.verb(Direction.UP)}."
                )
            else:
                yield (
                    f"**Preparing the workloads is not enough:** {text} {tried}. Still it brought "
                    f"{join_breaks(one.worst.breaks)}."
                )

    def _around_preparation(self, known: Preparation) -> str:
        """Say what to wait for and what to avoid around a preparation."""
        text = ""
        if known.rollout_commands:
            text = f" This replaces their pods: wait for the rollouts ({join_words(known.rollout_commands)})."
        if self.words.gates:
            text += f" From then on, prevent users from creating objects that use {self.words.subject}."
        lasting = [name for name in known.untouched if self.is_refused_after_rollback(name)]
        if lasting:
            names, one = join_words(f"`{name}`" for name in lasting), len(lasting) == 1
            text += (
                f" {names} {'keeps' if one else 'keep'} running, but cannot be recreated after `kube-apiserver` is "
                "rolled back."
            )
        return text

    def _refused_meanwhile(self) -> Iterator[str]:
        """Say which workloads the API server refuses during a safe direction up, which is no harm."""
        replay = self.first_undisturbed
        if replay is None:
            return
        last, names = 0, dict[str, None]()
        for index, replayed in enumerate(replay.replayed_moves):
            if isinstance(replayed.record.move, TurnMove):
                break
            found = [text.partition(":")[0].lower() for text in replayed.record.refused]
            names.update(dict.fromkeys(found))
            last = index + 1 if found else last
        if names:
            until = self.words.describe_move(replay.moves[last])
            yield (
                f"During a safe {Direction.UP.noun}, the API server rejects "
                f'{join_words(f"`{name}`" for name in names)} until "{until}". That is not counted as harm.'
            )

    def describe_retry(self) -> str:
        """Say what happens when all components change once more after the direction down."""
        order, seconds = format_order(tuple(reversed(self.plan.components))), RETRY_PAUSES * self.plan.seconds
        bad = [one for one in self.result.pairs if one.retry_result.breaks]
        verb = self.words.verb(Direction.UP)
        text = (
            f"**To {verb} once more** after the rollback, without an edit to any workload: {seconds} s of virtual time "
            f"after the last component ({RETRY_PAUSES} pauses of {self.plan.seconds} s) every workload had all its "
            "pods ready in "
        )
        note = (
            f" Only the final state was checked, and only for the order {order}. To {verb} again, use an order that "
            "was safe the first time."
        )
        if not bad:
            return f"{text}all {len(self.result.pairs)} combinations.{note}"
        names = sorted({each.invariant for one in bad for each in one.retry_result.breaks})
        good = len(self.result.pairs) - len(bad)
        return f"{text}{good} of {len(self.result.pairs)} combinations; in the others broke: {', '.join(names)}.{note}"


def _shared_harm(orders: Sequence[OrderVerdict], always: set[str]) -> str:
    shared = set.intersection(*(set(broken_invariants(one)) for one in orders)) - always
    text = join_words(describe_breaks(each for one in orders for each in one.worst.breaks if each.invariant in shared))
    if text:
        return text
    others = any(set(broken_invariants(one)) - always for one in orders)
    return "nothing that all of them share" if others else "nothing"
