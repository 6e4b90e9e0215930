"""Summary of an exploration: tables for a terminal, JSON for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.explore.conclusions import find_unsupported
from mockkube.explore.exploration import Counterexample, DirectionResult, Exploration, OrderVerdict, SafetyVerdict
from mockkube.explore.plans.invariants import FIELDS_KEPT, INVARIANTS
from mockkube.explore.plans.orders import ChangeMove, Moves, TurnMove
from mockkube.explore.plans.plan import Direction, RolloutPlan
from mockkube.features.components import is_api_server
from mockkube.report.markup import strip_markup
from mockkube.report.sentences.answer import NOT_EXERCISED, NOTHING_HAPPENED, Answer
from mockkube.report.sentences.harm_terms import (
    HARM_MEANINGS,
    OWN_INVARIANT,
    WRITTEN_TOO_EARLY,
    format_harm,
    format_harm_name,
)
from mockkube.report.sentences.headline import describe_answer, describe_setting, list_refuted_claims
from mockkube.report.wording import SHORT, format_order

# Plain ASCII, so that columns align in every terminal.
_MARKS: Final = {SafetyVerdict.SAFE: "ok", SafetyVerdict.UNSAFE: "no", SafetyVerdict.NOT_TRIED: "?"}
# Index of the column NOT TRIED, which is left out if every order was tried.
_NOT_TRIED: Final = 4


def render_table(result: Exploration, command: str = "mockkube explore PLAN") -> str:
    """Return the answer, the tables of orders and the counterexamples; `command` explores the plan again."""
    answer = Answer(result)
    claims = map(strip_markup, list_refuted_claims(answer))
    lines = [result.plan.title, strip_markup(describe_answer(answer)), *claims, ""]
    for direction in Direction:
        lines += [*_format_direction(answer, direction), ""]
    lines += [strip_markup(answer.describe_retry()), "", *_counterexamples(answer, command), *_explain_harm(result)]
    lines.append(
        f"{result.path_count} paths, {result.states} distinct states, {result.distinct_moves} distinct moves; "
        f"seed {result.plan.seed}"
    )
    lines += [f"never accepted: {name}: {reason}" for name, reason in result.never_accepted.items()]
    if result.mismatches:
        lines.append(f"{result.mismatches} moves had another result when repeated: counts of other paths may differ")
    if result.checked is not None:
        lines.append(
            f"{result.checked.path_count} paths run from start to end: {len(result.checked.differences)} differ"
        )
        lines += map(str, result.checked.differences)
    return "\n".join(lines)


def _format_direction(answer: Answer, direction: Direction) -> Iterator[str]:
    yield f"TO {answer.words.verb(direction).upper()}: {_format_count(answer, direction)}"
    yield from _rows(answer.unprepared(direction))
    if names := answer.not_exercised(direction):
        yield f"  not tried: {', '.join(names)} ({NOT_EXERCISED}): no statement about {_its(names)} place in an order"
    if direction is Direction.DOWN and (ready := answer.prepared()):
        safe = sum(one.is_safe for one in ready)
        yield ""
        verb = answer.words.verb(direction).upper()
        yield f"TO {verb}, AFTER CHANGING THE WORKLOADS (prepare): {safe} of {_orders(len(ready))} safe"
        yield from _rows(ready)


def _format_count(answer: Answer, direction: Direction) -> str:
    every, safe, untried = answer.unprepared(direction), answer.safe(direction), answer.untried(direction)
    if len(untried) == len(every):
        return f"not tried: {NOTHING_HAPPENED}"
    rule = answer.rule(direction)
    which = (
        ("" if not safe else f": {strip_markup(rule.text)}")
        if rule.exact
        else f"; they all have: {strip_markup(rule.text)}"
    )
    others = f", {len(untried)} not tried" if untried else ""
    return f"{len(safe)} of {_orders(len(every))} safe{others}{which}"


def _orders(count: int) -> str:
    return "1 order is" if count == 1 else f"{count} orders are"


def _its(names: Sequence[str]) -> str:
    return "its" if len(names) == 1 else "their"


def _rows(verdicts: Sequence[OrderVerdict]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("", "ORDER", "WORST HARM", "BREAKS", "NOT TRIED", "DOCUMENTED ORDER")]
    rows += [_row(one) for one in verdicts]
    if not any(row[_NOT_TRIED] for row in rows[1:]):
        rows = [(*row[:_NOT_TRIED], *row[_NOT_TRIED + 1 :]) for row in rows]
    yield from _align(rows)


def _row(one: OrderVerdict) -> tuple[str, ...]:
    written = ", ".join(f"{each.name}{_claim(each.claim, one.verdict)}" for each in one.written_orders)
    breaks = ", ".join(dict.fromkeys(each.invariant for each in one.worst.breaks))
    prepared = f" (prepared: {one.prepares})" if one.prepares else ""
    untried = (
        "all"
        if one.verdict is SafetyVerdict.NOT_TRIED
        else ", ".join(SHORT.get(name, name) for name in one.not_exercised)
    )
    return (
        _MARKS[one.verdict],
        format_order(one.order) + prepared,
        format_harm(one.worst.harm),
        breaks or "-",
        untried if one.verdict is not SafetyVerdict.UNSAFE else "",
        written,
    )


def _claim(claim: bool | None, verdict: SafetyVerdict) -> str:
    if claim is None:
        return ""
    claimed = "safe" if claim else "harmful"
    if verdict is SafetyVerdict.NOT_TRIED:
        return f" (claims {claimed}: not tried)"
    return f" (claims {claimed}: {'confirmed' if claim is (verdict is SafetyVerdict.SAFE) else 'refuted'})"


def _counterexamples(answer: Answer, command: str) -> Iterator[str]:
    for one in answer.result.counterexamples:
        yield f"{one.invariant}: {INVARIANTS.get(one.invariant, OWN_INVARIANT)}"
        yield f"  breaks first after: {', '.join(_name_moves(answer, one.moves))}"
        yield f"  {one.text}"
        if _could_have_waited(answer.result.plan, one):
            yield f"  {WRITTEN_TOO_EARLY}"
        yield f"  reproduce: {command} --trace {one.invariant} > broken.yaml; mockkube test broken.yaml"
        yield ""


def _name_moves(answer: Answer, moves: Moves) -> Iterator[str]:
    """Yield what an administrator does in each move."""
    for move in moves:
        if isinstance(move, ChangeMove):
            yield f"{answer.words.verb(move.direction)} {move.component}"
        elif not isinstance(move, TurnMove):
            yield str(move)
        elif move.prepares:
            yield "change the workloads"


def _could_have_waited(plan: RolloutPlan, example: Counterexample) -> bool:
    """Return whether a field is lost because users wrote it before any API server had changed."""
    changed = {move.component for move in example.moves if isinstance(move, ChangeMove)}
    servers = {name for name in plan.components if is_api_server(name)}
    return example.invariant == FIELDS_KEPT and not plan.workload_after and bool(servers) and not changed & servers


def _explain_harm(result: Exploration) -> Iterator[str]:
    """Yield what the counts in the tables mean."""
    found = dict.fromkeys(name for one in result.orders for name in one.worst.harm.nonzero_counts())
    if found:
        yield "Counts, added up over the moves of an order:"
        yield from (f"  {format_harm_name(name)}: {HARM_MEANINGS[name]}" for name in HARM_MEANINGS if name in found)
        yield ""


def _align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(map(str.ljust, row, widths)).rstrip()


def to_json(result: Exploration, scenarios: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return all results as JSON data, with the scenarios that show how invariants break."""
    answer = Answer(result)
    return {
        "plan": result.plan.name,
        "title": result.plan.title,
        "setting": describe_setting(answer),
        "answer": strip_markup(describe_answer(answer)),
        "seed": result.plan.seed,
        "paths": result.path_count,
        "states": result.states,
        "mismatches": result.mismatches,
        "orders": [_order_json(result.plan, one) for direction in Direction for one in result.list_verdicts(direction)],
        "pairs": [
            {
                "up": list(one.up),
                "down": list(one.down),
                **({"prepares": one.prepares} if one.prepares else {}),
                "score": one.up_result.harm.score + one.down_result.harm.score,
                "upResult": _result_json(one.up_result),
                "downResult": _result_json(one.down_result),
                "retryResult": _result_json(one.retry_result),
            }
            for one in result.pairs
        ],
        "counterexamples": [
            {
                "invariant": one.invariant,
                "text": one.text,
                "moves": [str(move) for move in one.moves],
                **({"scenario": scenarios[one.invariant]} if scenarios and one.invariant in scenarios else {}),
            }
            for one in result.counterexamples
        ],
        "notExercised": {str(direction): list(result.not_exercised(direction)) for direction in Direction},
        "refuted": [written.name for written, _ in result.refuted_claims],
        "unconfirmed": [written.name for written, _ in result.unconfirmed_claims],
        "neverAccepted": dict(result.never_accepted),
        "loops": [one.as_json() for one in result.rates],
        **_checked_json(result),
    }


def _checked_json(result: Exploration) -> dict[str, Any]:
    if result.checked is None:
        return {}
    return {
        "checked": {"paths": result.checked.path_count, "differences": [str(one) for one in result.checked.differences]}
    }


def _order_json(plan: RolloutPlan, one: OrderVerdict) -> dict[str, Any]:
    written = [{"name": each.name, "claim": each.claim, "source": each.source} for each in one.written_orders]
    return {
        "phase": str(one.direction),
        "order": list(one.order),
        "verdict": str(one.verdict),
        "safe": one.is_safe,
        "notExercised": list(one.not_exercised),
        **({"prepares": one.prepares} if one.prepares else {}),
        **({"written": written} if written else {}),
        "score": one.worst.harm.score,
        "supported": not find_unsupported(plan, one.direction, one.order),
        **_result_json(one.worst),
    }


def _result_json(result: DirectionResult) -> dict[str, Any]:
    return {
        "harm": dict(result.harm.nonzero_counts()),
        "breaks": [{"invariant": one.invariant, "text": one.text} for one in result.breaks],
    }
