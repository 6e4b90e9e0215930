"""HTML page about an exploration: the answer, how far to trust it, what was tried, and how it breaks."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.explore.conclusions import changes_versions, find_unsupported
from mockkube.explore.exploration import OrderVerdict
from mockkube.explore.plans.invariants import INVARIANTS
from mockkube.explore.plans.plan import Direction, Order
from mockkube.explore.replay import UNDISTURBED, Evidence
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.exploration_orders import draw_orders
from mockkube.report.drawing.harm_map import HarmMap, shade, shade_labels
from mockkube.report.environment import render_page
from mockkube.report.pages import replay_summary, reproduction
from mockkube.report.sentences import harm_terms, trust
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.break_descriptions import broken_invariants
from mockkube.report.sentences.events import merge_events, read_events
from mockkube.report.sentences.harm_terms import format_harm
from mockkube.report.sentences.headline import describe_answer, describe_setting, find_tone, list_refuted_claims
from mockkube.report.sentences.symptoms import find_symptoms
from mockkube.report.sentences.workloads import describe_nodes, describe_workloads, find_preparation, to_yaml_line

_UNSUPPORTED_TEXT: Final = " Light gray: not supported by the version skew policy, and nothing broke."
_LETTERS: Final = {"kube-apiserver": "A", "kube-scheduler": "S", "kube-controller-manager": "C", "kubelet": "K"}
_ORDER_TEXT: Final = (
    "Read a row from left to right: the component that changes first, second, and so on. Green: nothing broke. Red: "
    "something broke; the longer the bar, the more harm ([defined below](#harm)). ★ an order from the document."
)


def render(evidence: Evidence) -> str:
    """Return the page of an exploration and its replays."""
    answer = Answer(evidence.result, evidence)
    return render_page(
        "exploration.html.j2",
        headline=describe_answer(answer),
        refuted=list(list_refuted_claims(answer)),
        tone=find_tone(answer),
        setting=describe_setting(answer),
        panels=draw_orders(answer),
        order_text=_ORDER_TEXT + (_UNSUPPORTED_TEXT if changes_versions(evidence.result.plan) else ""),
        links=list(_links(answer)),
        answer=answer,
        result=evidence.result,
        plan=evidence.result.plan,
        words=answer.words,
        replays=evidence.replays,
        places=replay_summary.number_invariants(evidence.replays),
        changes_versions=changes_versions(evidence.result.plan),
        figures=list(_figures(answer)),
        tables=[table for direction in Direction for table in _tables(answer, direction)],
        harm_map=_harm_map(answer),
        has_restarts=any(one.worker.startswith("restart: ") for replay in evidence.replays for one in replay.moments),
        Direction=Direction,
        UNDISTURBED=UNDISTURBED,
        INVARIANTS=INVARIANTS,
        replay_summary=replay_summary,
        broken_invariants=broken_invariants,
        shade=shade,
        shade_labels=shade_labels,
        events=lambda moments: merge_events(one for _, one in read_events(moments)),
        harm_terms=harm_terms,
        format_harm=format_harm,
        letter=_letter,
        to_yaml_line=to_yaml_line,
        describe_nodes=describe_nodes,
        find_preparation=find_preparation,
        reproduction=reproduction,
        find_symptoms=find_symptoms,
        trust=trust,
        describe_workloads=describe_workloads,
    )


def _links(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    yield "answer", "The answer in full"
    yield "trust", "How far to trust this"
    yield "tried", "What was tried"
    yield "harm", "Kinds of harm"
    if answer.result.list_written():
        yield "documented", "Documented orders"
    for direction in Direction:
        yield f"orders-{direction}", f"All orders to {answer.words.verb(direction)}"
    yield "map", "Up with down"
    yield "breaks", "How it breaks"
    yield "reproduce", "Reproduce it"


def _figures(answer: Answer) -> Iterator[tuple[int, int, str]]:
    """Yield the figures at the top of the page: a count, the total and a text."""
    for direction in Direction:
        verb, orders = answer.words.verb(direction), answer.unprepared(direction)
        yield len(answer.safe(direction)), len(orders), f"orders to {verb} are safe"
        if untried := answer.untried(direction):
            yield len(untried), len(orders), f"orders to {verb} were not tried"
        if changes_versions(answer.plan):
            good = [one for one in orders if answer.is_supported(direction, one.order)]
            yield (
                sum(one.is_safe for one in good),
                len(good),
                f"orders to {verb} that the skew policy supports are safe",
            )
    claimed = [one for written, one in answer.result.list_written() if written.claim]
    for some, text in (
        (answer.prepared(), f"prepared orders to {answer.words.verb(Direction.DOWN)} are safe"),
        ([one for one in claimed if not one.prepares], "documented orders claimed to be safe are safe"),
        ([one for one in claimed if one.prepares], "documented orders with a preparation claimed to be safe are safe"),
    ):
        if some:
            yield sum(one.is_safe for one in some), len(some), text


@dataclass(frozen=True, slots=True)
class _OrderRow:
    anchor: str
    verdict: OrderVerdict
    skew_policy: str
    """The first reason against the order; empty if the policy supports it."""
    bar_width: float


@dataclass(frozen=True, slots=True)
class _OrderTable:
    direction: Direction
    caption: str
    rows: Sequence[_OrderRow]
    prepared: bool = False


def _tables(answer: Answer, direction: Direction) -> Iterator[_OrderTable]:
    if direction is Direction.UP:
        harm = "Harm during the enablement only"
    elif answer.independent:
        harm = "Harm during the rollback only; it was the same after every order of the enablement"
    else:
        harm = "Harm during the rollback only, the worst after any order of the enablement"
    caption = (
        f"{harm}. Safe orders first, then from least to most harm; bars of both tables have one scale. ★ an order from "
        "the document (components it does not name are changed last)"
    )
    yield _OrderTable(direction, caption, _rows(answer, direction, answer.unprepared(direction)))
    if direction is Direction.DOWN and (prepared := answer.prepared()):
        caption = "Harm after the preparation: not to be compared with the table above, and not counted with it"
        yield _OrderTable(direction, caption, _rows(answer, direction, prepared), prepared=True)


def _rows(answer: Answer, direction: Direction, orders: Sequence[OrderVerdict]) -> list[_OrderRow]:
    # One scale for all tables, so that bars can be compared between them.
    worst = max((one.worst.harm.score for one in answer.result.orders), default=0) or 1
    verdicts = answer.result.list_verdicts(direction)
    return [
        _OrderRow(
            anchor=f"{direction}-{verdicts.index(one)}",
            verdict=one,
            skew_policy=next(iter(find_unsupported(answer.plan, direction, one.order)), "").partition(":")[0],
            bar_width=one.worst.harm.score * 6 / worst,
        )
        for one in orders
    ]


def _harm_map(answer: Answer) -> HarmMap:
    ups, downs = answer.result.list_verdicts(Direction.UP), answer.result.list_verdicts(Direction.DOWN)
    pairs = {(one.up, one.down, one.prepares): one.up_result.harm.score + one.down_result.harm.score
             for one in answer.result.pairs}  # fmt: skip
    scores = {
        (r, c): pairs[up.order, down.order, down.prepares]
        for r, up in enumerate(ups)
        for c, down in enumerate(downs)
        if (up.order, down.order, down.prepares) in pairs
    }
    # Both orders come from the document, so these are the paths that its readers would take.
    framed = [
        (r, c) for r, up in enumerate(ups) if up.written_orders for c, down in enumerate(downs) if down.written_orders
    ]
    columns = [f"{'+ ' if one.prepares else ''}{_initials(one.order)}" for one in downs]
    return HarmMap([_initials(one.order) for one in ups], columns, scores, framed)


def _letter(name: str) -> str:
    return _LETTERS.get(name, name[:1].upper())


def _initials(order: Order) -> str:
    return " ".join(map(_letter, order))
