"""An exploration in a terminal, and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.verdict import Exploration, OrderVerdict, Way
from mockkube.scenario.report.answer import Answer
from mockkube.scenario.report.glossary import harm_text
from mockkube.scenario.report.prose import plain
from mockkube.scenario.report.wording import order_text


def table(result: Exploration) -> str:
    """Return the whole of it for a terminal."""
    answer = Answer(result)
    lines = [result.plan.title, ""]
    for phase in Phase:
        lines += [*_of_phase(answer, phase), ""]
    lines += [plain(answer.again()), "", *_counterexamples(result)]
    lines.append(
        f"{result.walks} walks, {result.states} different states, {result.steps} different steps, "
        f"{result.played} played; seed {result.plan.seed}"
    )
    if result.surprises:
        lines.append(f"{result.surprises} steps came out otherwise when played again: counts of other ways may be off")
    if result.checked is not None:
        lines.append(f"{result.checked.ways} ways played from start to end: {len(result.checked.differences)} differ")
        lines += map(str, result.checked.differences)
    return "\n".join(lines)


def _of_phase(answer: Answer, phase: Phase) -> Iterator[str]:
    verdicts, safe, every = answer.result.of(phase), answer.safe(phase), answer.plain(phase)
    rule = answer.rule(phase)
    which = ("" if not safe else f": {plain(rule.text)}") if rule.exact else f"; they all have: {plain(rule.text)}"
    yield f"TO {answer.words.verb(phase).upper()}: {len(safe)} of {len(every)} orders are safe{which}"
    rows: list[tuple[str, ...]] = [("", "ORDER", "WORST HARM", "BREAKS", "WRITTEN")]
    rows += [_row(one) for one in verdicts]
    yield from _aligned(rows)


def _row(one: OrderVerdict) -> tuple[str, ...]:
    written = ", ".join(f"{each.name}{_claim(each.claim, safe=one.safe)}" for each in one.written)
    breaks = ", ".join(dict.fromkeys(each.invariant for each in one.worst.breaks))
    prepared = f" (prepared: {one.prepares})" if one.prepares else ""
    return (
        "ok" if one.safe else "no",
        order_text(one.order) + prepared,
        harm_text(one.worst.harm),
        breaks or "-",
        written,
    )


def _claim(claim: bool | None, *, safe: bool) -> str:
    if claim is None:
        return ""
    said = "safe" if claim else "harmful"
    return f" (said to be {said}: {'it is' if claim is safe else 'it is not'})"


def _counterexamples(result: Exploration) -> Iterator[str]:
    for one in result.counterexamples:
        yield f"{one.invariant}: {INVARIANTS.get(one.invariant, 'Demanded by the plan.')}"
        yield f"  broken in {len(one.moves)} step{'s' * (len(one.moves) > 1)}: {', '.join(map(str, one.moves))}"
        yield f"  {one.text}"
        yield f"  play it: mockkube explore PLAN --trace {one.invariant} > broken.yaml; mockkube test broken.yaml"
        yield ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(map(str.ljust, row, widths)).rstrip()


def as_json(result: Exploration) -> dict[str, Any]:
    """Return the whole of it for programs."""
    return {
        "plan": result.plan.name,
        "seed": result.plan.seed,
        "walks": result.walks,
        "states": result.states,
        "surprises": result.surprises,
        "orders": [_order_json(one) for phase in Phase for one in result.of(phase)],
        "pairs": [
            {
                "up": list(one.up),
                "down": list(one.down),
                **({"prepares": one.prepares} if one.prepares else {}),
                "score": one.rising.harm.score + one.falling.harm.score,
                "rising": _way_json(one.rising),
                "falling": _way_json(one.falling),
                "again": _way_json(one.again),
            }
            for one in result.pairs
        ],
        "counterexamples": [
            {"invariant": one.invariant, "text": one.text, "moves": [str(move) for move in one.moves]}
            for one in result.counterexamples
        ],
        "refuted": [written.name for written, _ in result.refuted],
        "loops": [one.as_json() for one in result.rates],
        **_checked_json(result),
    }


def _checked_json(result: Exploration) -> dict[str, Any]:
    if result.checked is None:
        return {}
    return {"checked": {"ways": result.checked.ways, "differences": [str(one) for one in result.checked.differences]}}


def _order_json(one: OrderVerdict) -> dict[str, Any]:
    written = [{"name": each.name, "claim": each.claim, "source": each.source} for each in one.written]
    return {
        "phase": str(one.phase),
        "order": list(one.order),
        "safe": one.safe,
        **({"prepares": one.prepares} if one.prepares else {}),
        **({"written": written} if written else {}),
        **_way_json(one.worst),
    }


def _way_json(way: Way) -> dict[str, Any]:
    return {
        "harm": dict(way.harm.counts()),
        "breaks": [{"invariant": one.invariant, "text": one.text} for one in way.breaks],
    }
