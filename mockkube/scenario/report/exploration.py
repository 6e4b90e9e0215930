"""An exploration as one page: what was claimed, which orders are safe, how the others break, step by step."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from mockkube.scenario.explore.harm import WEIGHTS
from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.orders import Again, Changes, Happens, Move, Turns
from mockkube.scenario.explore.plan import Order, Phase, WrittenOrder
from mockkube.scenario.explore.reasons import settings_after, why
from mockkube.scenario.explore.retelling import scenario_of
from mockkube.scenario.explore.stepping import Journey, Told, story
from mockkube.scenario.explore.verdict import Counterexample, Exploration, OrderVerdict
from mockkube.scenario.report import drawing
from mockkube.scenario.report.page import badge, document, folded, table
from mockkube.scenario.report.summary import again, order_text
from mockkube.scenario.report.timeline import build
from mockkube.scenario.results import story_of

_LETTERS: Mapping[str, str] = {
    "kube-apiserver": "A",
    "kube-scheduler": "S",
    "kube-controller-manager": "C",
    "kubelet": "K",
}
_OF_ONE_KIND_MAX = 6


def render(result: Exploration) -> str:
    """Return the page; the counterexamples are played again to tell what happens in them."""
    body = [
        *_head(result),
        *_written(result),
        *_orders(result, Phase.UP),
        *_orders(result, Phase.DOWN),
        *_heat(result),
        *_counterexamples(result),
        *_reading(result),
    ]
    return document(f"{result.plan.name}: every order of the rollout", body)


def _head(result: Exploration) -> Iterator[str]:
    plan = result.plan
    yield f"<h1>{escape(plan.title)}</h1>"
    if plan.source:
        yield f'<p class="soft">Claims from {escape(plan.source)}</p>'
    yield f"<p>{_verdict(result)}</p>"
    figures = [
        *(_figure(result, phase) for phase in Phase),
        (str(len(result.refuted)), "written orders said safe that are not"),
        (str(result.walks), "ways up and down, all tried"),
        (str(result.states), "different states met"),
    ]  # fmt: skip
    yield '<ul class="figures">'
    yield from (f"<li><b>{escape(count)}</b> {escape(text)}</li>" for count, text in figures)
    yield "</ul>"
    yield f"<p>Everything runs at Kubernetes {plan.version}, in virtual time. One component at a time becomes:</p>"
    rows = [[f"<code>{escape(one.component)}</code>", escape(str(one.after))] for one in plan.changes]
    yield table(("Component", "Becomes"), rows, "The change")
    if plan.disturbances:
        yield "<p>In between, this happens:</p><ul>"
        yield from (f"<li>{escape(one.name)} <span class='soft'>({one.when})</span></li>" for one in plan.disturbances)
        yield "</ul>"
    yield from (f'<p class="why">{escape(note)}</p>' for note in plan.notes)


def _figure(result: Exploration, phase: Phase) -> tuple[str, str]:
    plain = _plain(result, phase)
    return f"{sum(one.safe for one in plain)} of {len(plain)}", f"orders of {phase.noun} safe"


def _verdict(result: Exploration) -> str:
    """Say in a few sentences what came out."""
    told = [_share(result, Phase.UP), _share(result, Phase.DOWN)]
    told += [
        f'After the preparations of "{escape(one.prepares)}" the rollback {"is" if one.safe else "is not"} safe.'
        for one in result.of(Phase.DOWN)
        if one.prepares
    ]
    return " ".join(told)


def _share(result: Exploration, phase: Phase) -> str:
    plain = _plain(result, phase)
    safe = [one for one in plain if one.safe]
    whole = (
        f"<b>{len(safe) or 'None'} of the {len(plain)} orders of {phase.noun} {'are' if len(safe) > 1 else 'is'} safe"
    )
    doing = " while workloads use the feature" if phase is Phase.DOWN else ""
    if safe:
        return f"{whole}</b>{doing}, for example {escape(order_text(safe[0].order))}."
    least = min(plain, key=lambda one: one.worst.harm.score)
    return f"{whole}</b>{doing}; least harm does {escape(order_text(least.order))}: {escape(str(least.worst.harm))}."


def _plain(result: Exploration, phase: Phase) -> list[OrderVerdict]:
    """Return the orders nobody has prepared for."""
    return [one for one in result.of(phase) if not one.prepares]


def _written(result: Exploration) -> Iterator[str]:
    if not result.written():
        return
    yield "<h2>What was written, and what happened</h2>"
    rows = [_written_row(written, one) for written, one in result.written()]
    yield table(("Order", "Said to be", "Is", "What broke"), rows, "Orders that somebody wrote down")


def _written_row(written: WrittenOrder, one: OrderVerdict) -> list[str]:
    said = {True: "safe", False: "harmful", None: "nothing said"}[written.claim]
    source = f'<br><span class="soft">{escape(written.source)}</span>' if written.source else ""
    name = f"<b>{escape(written.name)}</b><br>{escape(order_text(written.order))}{source}"
    return [name, said, _safety(one), _breaks(one)]


def _safety(one: OrderVerdict) -> str:
    return badge("safe", "good") if one.safe else badge("not safe", "bad")


def _breaks(one: OrderVerdict) -> str:
    names = dict.fromkeys(each.invariant for each in one.worst.breaks)
    links = ", ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)
    return f"{links}<br><span class='soft'>{escape(str(one.worst.harm))}</span>" if links else "nothing"


def _orders(result: Exploration, phase: Phase) -> Iterator[str]:
    verdicts = result.of(phase)
    worst = max((one.worst.harm.score for one in verdicts), default=0) or 1
    combined = "rollbacks after it" if phase is Phase.UP else "enablements before it"
    yield f"<h2>Orders of {phase.noun}, the harmless first</h2>"
    rows = []
    for one in verdicts:
        bar = f'<span class="bar" style="width:{one.worst.harm.score * 7 / worst:.1f}rem"></span>'
        marks = "".join(f"<br>★ {escape(each.name)}" for each in one.written)
        prepared = " <span class='soft'>(prepared)</span>" if one.prepares else ""
        rows.append(
            [f'<span class="order">{escape(order_text(one.order))}</span>{prepared}{marks}', _safety(one),
             f'<span class="harm">{bar}{one.worst.harm.score}</span>', _breaks(one)]
        )  # fmt: skip
    yield table(
        ("Order", "", "Harm", "What broke"), rows, f"Each with the worst of all {combined}; ★ written by somebody"
    )


def _heat(result: Exploration) -> Iterator[str]:
    pairs = {(one.up, one.down): one for one in result.pairs if not one.prepares}
    ups = [one.order for one in result.of(Phase.UP)]
    downs = [one.order for one in result.of(Phase.DOWN) if not one.prepares]
    written = [
        (ups.index(up.order), downs.index(down.order))
        for up in result.plan.written(Phase.UP)
        for down in result.plan.written(Phase.DOWN)
        if not down.prepare
    ]

    def harm(row: int, column: int) -> int:
        pair = pairs[ups[row], downs[column]]
        return pair.rising.harm.score + pair.falling.harm.score

    def title(row: int, column: int) -> str:
        pair = pairs[ups[row], downs[column]]
        return (
            f"up: {order_text(pair.up)}: {pair.rising.harm}; down: {order_text(pair.down)}: {pair.falling.harm}; "
            f"score {harm(row, column)}"
        )

    yield f"<p>{escape(again(result))}</p>"
    yield "<h2>Every order up with every order down</h2>"
    letters = ", ".join(f"{_letter(name)} {escape(name)}" for name in result.plan.components)
    yield (
        f'<p class="soft">Rows: orders up. Columns: orders down. {letters}. Green: no harm. The redder, the more; '
        "a frame marks what somebody wrote. Point at a cell for its counts.</p>"
    )
    label = "Harm of every order of enablement with every order of rollback"
    yield drawing.heat([_letters(one) for one in ups], [_letters(one) for one in downs], harm, written, title, label)


def _letter(name: str) -> str:
    return _LETTERS.get(name, name[:1].upper())


def _letters(order: Order) -> str:
    return " ".join(map(_letter, order))


# Counterexamples


def _counterexamples(result: Exploration) -> Iterator[str]:
    yield "<h2>How it breaks</h2>"
    if not result.counterexamples:
        yield "<p>Nothing breaks, whatever the order.</p>"
    for one in result.counterexamples:
        journey = asyncio.run(story(result.plan, one.moves))
        yield f'<h3 id="{escape(one.invariant)}">{escape(one.invariant)}</h3>'
        demand = INVARIANTS.get(one.invariant, "Demanded by the plan.")
        yield f"<p>{escape(demand)} <b>Broken:</b> {escape(one.text)}</p>"
        yield f"<p>The shortest way to it, in {len(one.moves)} step{'s' * (len(one.moves) > 1)}:</p>"
        yield '<ol class="steps">'
        yield from _steps(result, one, journey)
        yield "</ol>"
        drawn = build(story_of(journey.laboratory.trace))
        yield drawing.timeline(drawn, f"Timeline of the counterexample to {one.invariant}")
        yield '<p class="soft">A column is a change of a component or a pod; the seconds above are not to scale.</p>'
        yield folded("Events", _events(journey))
        yield folded("Play it yourself", _replay(result, one))


def _replay(result: Exploration, one: Counterexample) -> str:
    how = "<p>Save it as <code>broken.yaml</code>, then run <code>mockkube test -v broken.yaml</code>.</p>"
    return f"{how}<pre>{escape(scenario_of(result.plan, one))}</pre>"


def _steps(result: Exploration, one: Counterexample, journey: Journey) -> Iterator[str]:
    for index, told in enumerate(journey.told):
        lines = _happened(result, one.moves[: index + 1], told, journey)
        lasted = f"<span class='soft'>{told.began:.0f} s to {told.ended:.0f} s</span>"
        yield f"<li><b>{escape(_move_text(result, told.move))}</b> {lasted}"
        yield "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul></li>"


def _move_text(result: Exploration, move: Move) -> str:
    match move:
        case Changes(phase, component):
            return f"{component} becomes: {result.plan.change_of(component).to(phase)}"
        case Happens(_, name):
            return name
        case Turns(prepares):
            return f"All have changed; the way down is prepared: {prepares}" if prepares else "All have changed"
        case Again():
            return "All change again"


def _happened(result: Exploration, moves: Sequence[Move], told: Told, journey: Journey) -> list[str]:
    settings = settings_after(result.plan, tuple(moves))
    lines: dict[str, int] = {}
    reasons: dict[str, None] = {}
    for fact in told.facts:
        if fact.harm == "created":
            continue
        lines[fact.told()] = lines.get(fact.told(), 0) + 1
        own = next((one for one in journey.intent.workloads if one.name == fact.of), None)
        if fact.component in settings:
            reasons[why(result.plan, fact.component, settings[fact.component], own)] = None
    shown = [f"{escape(text)}{f' <b>×{count}</b>' if count > 1 else ''}" for text, count in lines.items()]
    made = sum(fact.harm == "created" for fact in told.facts)
    if told.taken.harm.loops:
        shown.insert(0, f"{badge('hot loop', 'bad')} {made} pods made without end; the step was cut off there")
    shown += _waiting(result, told, journey, settings)
    shown += [f"refused: {escape(text)}" for text in dict.fromkeys(told.refused)][:_OF_ONE_KIND_MAX]
    shown += [f'<span class="why">Why: {escape(reason)}</span>' for reason in reasons if reason]
    return shown or ["nothing bad happens"]


def _waiting(result: Exploration, told: Told, journey: Journey, settings: Mapping[str, object]) -> list[str]:
    if told.taken.harm.loops:
        return []
    shown = [f"waits: {escape(text)}" for text in told.stuck[:_OF_ONE_KIND_MAX]]
    setting = settings_after(result.plan, tuple(one.move for one in journey.told[: journey.told.index(told) + 1]))
    if told.stuck and "kube-scheduler" in settings:
        texts = {why(result.plan, "kube-scheduler", setting["kube-scheduler"], own) for own in journey.intent.workloads}
        shown += [f'<span class="why">Why: {escape(text)}</span>' for text in sorted(texts) if text]
    return shown


def _events(journey: Journey) -> str:
    events = build(story_of(journey.laboratory.trace)).events
    rows = [
        [f"{one.at:.0f} s", escape(one.reason), escape(one.object), escape(one.message), str(one.times)]
        for one in events
    ]
    return table(("At", "Reason", "Object", "Message", "Times"), rows, "Events of the cluster")


def _reading(result: Exploration) -> Iterator[str]:
    plan = result.plan
    yield "<h2>How to read this</h2>"
    weights = ", ".join(f"{name} {weight}" for name, weight in WEIGHTS.items())
    yield (
        "<p>Each way was played on a whole simulated control plane, one component changing at a time, "
        f"{plan.seconds} seconds of the cluster's time after each change and each disturbance. Where two ways come to "
        f"the same state, what follows was played once: {result.steps} steps stand for all {result.walks} ways.</p>"
    )
    yield (
        f"<p>Harm is a number to compare orders by, one of each counting: {weights}. An order is safe when no "
        "invariant breaks in any way that uses it. A hot loop is cut off when "
        f"{plan.creations_max} pods were made in one step: counts of looping steps are lower bounds.</p>"
    )
    demands = [(demand.name, INVARIANTS.get(demand.name, "As the plan says.")) for demand in plan.demands]
    rows = [[f"<code>{escape(name)}</code>", escape(text)] for name, text in demands]
    yield table(("Invariant", "What must hold"), rows, "What was asked")
    if result.surprises:
        yield (
            f"<p>{result.surprises} of {result.played} steps came out otherwise when they were played again from what "
            "seemed the same state, so counts of ways that were put together may be off.</p>"
        )
    yield f'<p class="soft">Seed {plan.seed}: the same plan and seed give the same result.</p>'
