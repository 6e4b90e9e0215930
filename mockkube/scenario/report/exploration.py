"""An exploration as one page: the answer first, then how far it can be trusted, what was tried, and how it breaks."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from mockkube.scenario.explore.plan import Change, Order, Phase, WrittenOrder
from mockkube.scenario.explore.verdict import Exploration, OrderVerdict, Verdict
from mockkube.scenario.report import breaking, drawing, glossary, reproducing, retold, trust
from mockkube.scenario.report.answer import Answer
from mockkube.scenario.report.meaning import broken
from mockkube.scenario.report.page import badge, box, document, folded, paragraphs, table
from mockkube.scenario.report.prose import html, plain
from mockkube.scenario.report.supported import concerned, forbidden
from mockkube.scenario.report.wording import SHORT, Wording, listed, order_text, times
from mockkube.scenario.report.workloads import line_of, nodes, preparation, workloads

_LETTERS: Final = {"kube-apiserver": "A", "kube-scheduler": "S", "kube-controller-manager": "C", "kubelet": "K"}


def render(result: Exploration) -> str:
    """Return the page; the counterexamples are played again to tell what happens in them."""
    answer = Answer(result)
    ways = [*retold.counterexamples(result), *answer.undisturbed()]
    body = [
        *_head(answer),
        box("How far to trust this", paragraphs(trust.reasons(answer))),
        *_setting(answer),
        *_words(answer),
        *_written(answer),
        *_orders(answer, Phase.UP),
        *_orders(answer, Phase.DOWN),
        *_heat(answer),
        *breaking.chapter(answer, ways),
        *_reproduce(answer),
    ]
    return document(plain(answer.words.title), body)


def _head(answer: Answer) -> Iterator[str]:
    plan, words = answer.plan, answer.words
    yield f"<h1>{html(words.title)}</h1>"
    source = f"; claims from {escape(plan.source)}" if plan.source else ""
    yield (
        f'<p class="soft">{escape(plan.title)}{source}. A simulated cluster ({escape(trust.tool())}), not real '
        "binaries.</p>"
    )
    parts = [f"<h3>{escape(words.verb(phase).capitalize())}</h3>{paragraphs(answer.on(phase))}" for phase in Phase]
    parts.append(f"<h3>{escape(words.verb(Phase.UP).capitalize())} again</h3>{paragraphs([answer.again()])}")
    yield box("The answer", "".join(parts), "lead")
    yield '<ul class="figures">'
    for phase in Phase:
        yield _figure(len(answer.safe(phase)), len(answer.plain(phase)), f"orders to {words.verb(phase)} are safe")
        if untried := answer.untried(phase):
            yield _figure(len(untried), len(answer.plain(phase)), f"orders to {words.verb(phase)} were not tried")
        if concerned(plan):
            good = [one for one in answer.plain(phase) if answer.supported(phase, one.order)]
            text = f"orders to {words.verb(phase)} that the skew policy supports are safe"
            yield _figure(sum(one.safe for one in good), len(good), text)
    if ready := answer.prepared():
        yield _figure(sum(one.safe for one in ready), len(ready), f"prepared ways to {words.verb(Phase.DOWN)} are safe")
    claimed = [one for written, one in answer.result.written() if written.claim]
    for some, kind in (
        ([one for one in claimed if not one.prepares], "written orders"),
        ([one for one in claimed if one.prepares], "written orders with a preparation"),
    ):
        if some:
            yield _figure(sum(one.safe for one in some), len(some), f"{kind} said to be safe are safe")
    yield "</ul>"


def _figure(count: int, of: int, text: str) -> str:
    return f"<li><b>{count} of {of}</b> {escape(text)}</li>"


def _setting(answer: Answer) -> Iterator[str]:
    plan, words = answer.plan, answer.words
    yield "<h2>What was tried on what</h2>"
    rows = [_component(words, one) for one in plan.changes]
    gate = f"; the gate is {words.subject}" if len(words.gates) == 1 else ""
    caption = f"One component changes at a time, all kubelets at once{plain(gate)}"
    yield table(("Component", "Called here", "In the map", "Before", "After"), rows, caption)
    yield f"<p><b>Nodes:</b></p>{paragraphs(nodes(plan))}"
    told = "what users apply, again after each step until it is accepted"
    yield f"<p><b>Workloads</b> ({told}):</p>{paragraphs(workloads(plan))}"
    if plan.disturbances:
        yield f"<p><b>Disturbances</b> (each followed by {plan.seconds} s of virtual time):</p><ul>"
        for one in plan.disturbances:
            phases = listed(f"on the way {phase}" for phase in Phase if phase in one.phases)
            when = {"every-step": "after each change", "once": "once, at each place in turn"}.get(
                one.when, "before the way down"
            )
            doing = "; ".join(f"<code>{escape(line_of(action))}</code>" for action in one.actions)
            yield f"<li>{escape(one.name)} <span class='soft'>({when}, {phases})</span>: {doing}</li>"
        yield "</ul>"
    if plan.notes:
        yield '<h3 id="note-on-written-orders">Note on written orders</h3>'
    yield from (f'<p class="why">{escape(note)}</p>' for note in plan.notes)
    for ready in answer.prepared():
        yield from _preparation(answer, ready)


def _component(words: Wording, one: Change) -> list[str]:
    name, short = f"<code>{escape(one.component)}</code>", SHORT.get(one.component, one.component)
    return [name, escape(short), _letter(one.component), words.state(one, Phase.DOWN), words.state(one, Phase.UP)]


def _preparation(answer: Answer, one: OrderVerdict) -> Iterator[str]:
    known = preparation(answer.plan, one.prepares)
    if known is None:
        return
    yield (
        f'<p><b id="prepared">What is prepared in "{escape(one.prepares)}"</b>, before the first component '
        "changes back:</p>"
    )
    rest = [f"{listed(f'`{name}`' for name in known.untouched)}: left as it is"] if known.untouched else []
    yield paragraphs([*known.lines, *rest])
    yield folded(
        "The same as YAML (steps of a scenario; `patch` is a JSON merge patch)", f"<pre>{escape(known.manifest)}</pre>"
    )


def _words(answer: Answer) -> Iterator[str]:
    yield "<h2>The words used below</h2>"
    rows = [[f"<b>{escape(name)}</b>", weight, html(text)] for name, weight, text in glossary.weights()]
    yield table(("Word", "Weight", "What one of them is"), rows, "Harm: each thing counted times its weight, added up")
    way = next(iter(answer.quiet.ways.values()), None)
    whole = f" When all is well, {times(len(way.ran), 'pod')} run here." if way is not None else ""
    yield f"<p>{html(glossary.SUMMED)}{whole} {html(glossary.SAFE)}</p>"
    broke = {one.invariant for one in answer.result.counterexamples}
    rows = [
        [
            f"<code>{escape(name)}</code>",
            escape(text),
            f'<a href="#{escape(name)}">yes</a>' if name in broke else "never",
        ]
        for name, text in glossary.demanded(answer.plan)
    ]
    yield table(("Invariant", "What must hold", "Broken"), rows, "What was asked in every step")


def _written(answer: Answer) -> Iterator[str]:
    if not answer.result.written():
        return
    yield "<h2>Orders that were written down, and what came of them</h2>"
    rows = [_written_row(answer, written, one) for written, one in answer.result.written()]
    yield table(("Order", "Way", "Said to be", "Found", "What broke"), rows, "From the document the claims are from")


def _written_row(answer: Answer, written: WrittenOrder, one: OrderVerdict) -> list[str]:
    said = {True: "safe", False: "harmful", None: "nothing"}[written.claim]
    source = f'<br><span class="soft">{escape(written.source)}</span>' if written.source else ""
    ready = '<br><a href="#prepared">prepared</a> first' if one.prepares else ""
    name = f"<b>{escape(written.name)}</b><br>{escape(order_text(written.order))}{ready}{source}"
    return [name, escape(answer.words.verb(written.phase)), said, _safety(one), _breaks(one)]


def _safety(one: OrderVerdict) -> str:
    match one.verdict:
        case Verdict.SAFE:
            names = ", ".join(SHORT.get(name, name) for name in one.not_exercised)
            return badge("safe", "good") + (
                f"<br><span class='soft'>not tried: {escape(names)}</span>" if names else ""
            )
        case Verdict.NOT_TRIED:
            return badge("not tried", "plain")
        case Verdict.UNSAFE:
            return badge("not safe", "bad")


def _breaks(one: OrderVerdict) -> str:
    links = ", ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in broken(one))
    return f"{links}<br><span class='soft'>{escape(glossary.harm_text(one.worst.harm))}</span>" if links else "nothing"


def _orders(answer: Answer, phase: Phase) -> Iterator[str]:
    worst = max((one.worst.harm.score for one in answer.result.orders), default=0) or 1
    verb = answer.words.verb(phase)
    yield f"<h2>All orders to {escape(verb)}</h2>"
    yield f"<p>{html(answer.mechanism(phase))}</p>"
    yield _order_table(answer, phase, answer.plain(phase), worst, _caption(answer, phase))
    if phase is Phase.DOWN and (ready := answer.prepared()):
        yield f"<h3>Prepared orders to {escape(verb)}</h3>"
        caption = "Harm after the preparation: not to be compared with the table above, and not counted with it"
        yield _order_table(answer, phase, ready, worst, caption)


def _order_table(answer: Answer, phase: Phase, verdicts: Sequence[OrderVerdict], worst: int, caption: str) -> str:
    policy, rows = concerned(answer.plan), []
    for one in verdicts:
        index = answer.result.of(phase).index(one)
        score = one.worst.harm.score
        bar = f'<span class="bar" style="width:{score * 6 / worst:.1f}rem"></span>' if score else ""
        marks = "".join(f"<br>★ {escape(each.name)}" for each in one.written)
        prepared = " <a href='#prepared'>prepared</a>" if one.prepares else ""
        order = f'<span class="order" id="{phase}-{index}">{escape(order_text(one.order))}</span>{prepared}{marks}'
        skew = [_policy(answer, phase, one.order)] if policy else []
        rows.append([order, *skew, _safety(one), f'<span class="harm">{bar}{score}</span>', _breaks(one)])
    heads = ("Order", *(("Skew policy",) if policy else ()), "Found", "Harm", "What broke")
    return table(heads, rows, caption)


def _caption(answer: Answer, phase: Phase) -> str:
    if phase is Phase.UP:
        own = "Harm on the way up alone"
    elif answer.independent:
        own = "Harm on the way down alone; it was the same after every way up"
    else:
        own = "Harm on the way down alone, the most after any way up"
    return (
        f"{own}. Safe orders first, then from least to most harm; bars of both tables have one scale. ★ an order that "
        "the document prescribes, if need be with the other components put last"
    )


def _policy(answer: Answer, phase: Phase, order: Order) -> str:
    against = forbidden(answer.plan, phase, order)
    if not against:
        return "supported"
    return f"not supported<br><span class='soft'>{escape(against[0].partition(':')[0])}</span>"


def _heat(answer: Answer) -> Iterator[str]:
    result = answer.result
    ups, downs = result.of(Phase.UP), result.of(Phase.DOWN)
    pairs = {(one.up, one.down, one.prepares): one.rising.harm.score + one.falling.harm.score for one in result.pairs}
    scores = {
        (r, c): pairs[up.order, down.order, down.prepares]
        for r, up in enumerate(ups)
        for c, down in enumerate(downs)
        if (up.order, down.order, down.prepares) in pairs
    }
    framed = frozenset((r, c) for r, up in enumerate(ups) if up.written for c, down in enumerate(downs) if down.written)
    names = [f"{'+ ' if one.prepares else ''}{_initials(one.order)}" for one in downs]
    drawn = drawing.Heat([_initials(one.order) for one in ups], names, scores, framed, "Harm of every way up and down")
    yield '<h2 id="map">Every order up with every order down</h2>'
    if answer.independent:
        yield (
            "<p><b>The way up and the way down are independent here:</b> each way down did the same harm "
            "whatever way up "
            "came before it. So the two tables above say all, and the map only adds their numbers.</p>"
        )
    letters = ", ".join(f"{_letter(name)} {escape(name)}" for name in answer.plan.components)
    ready = " Columns with + are prepared." if answer.prepared() else ""
    yield (
        f"<p>Rows: the order up. Columns: the order down, as in the tables. {letters}.{ready} In each cell the "
        "harm of both "
        "together. A frame: both orders were written by somebody. A cell leads to its row in the table of orders "
        "up.</p>"
    )
    yield drawing.scale(max(scores.values(), default=0))
    yield folded(f"The map ({len(scores)} cells)", drawing.heat(drawn), opened=not answer.independent)


def _letter(name: str) -> str:
    return _LETTERS.get(name, name[:1].upper())


def _initials(order: Order) -> str:
    return " ".join(map(_letter, order))


def _reproduce(answer: Answer) -> Iterator[str]:
    lines = paragraphs(reproducing.lines(answer))
    text = answer.plan.text
    embedded = folded(f"The plan: {answer.plan.name}.yaml", f"<pre>{escape(text)}</pre>") if text else ""
    yield box("Reproduce it", f"{lines}{embedded}")
