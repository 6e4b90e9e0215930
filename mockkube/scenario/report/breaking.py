"""How it breaks: each different way once, step by step, causes first; how one would notice; a scenario to play."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from mockkube.cluster.trace import OPERATOR
from mockkube.scenario.explore.intent import Workload
from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.judging import UNTRIED
from mockkube.scenario.explore.observing import Fact
from mockkube.scenario.explore.orders import Changes
from mockkube.scenario.explore.plan import Phase, Plan, Setting
from mockkube.scenario.explore.reasons import settings_after, why
from mockkube.scenario.explore.retelling import scenario_of
from mockkube.scenario.report import drawing, glossary, undisturbed
from mockkube.scenario.report.answer import Answer
from mockkube.scenario.report.events import Told, events_of, gathered, quoted
from mockkube.scenario.report.meaning import meanings
from mockkube.scenario.report.noticing import signs
from mockkube.scenario.report.page import badge, folded, table
from mockkube.scenario.report.prose import html
from mockkube.scenario.report.retold import Retold, Stage
from mockkube.scenario.report.supported import concerned
from mockkube.scenario.report.timeline import Boundary, build
from mockkube.scenario.report.wording import Wording, listed, order_text, times

_DRAWN: Final = re.compile(r"-[a-z0-9]{5}\b")


def chapter(answer: Answer, ways: Sequence[Retold]) -> Iterator[str]:
    """Yield the part of the page."""
    yield '<h2 id="breaks">How it breaks, step by step</h2>'
    if not ways:
        yield "<p>Nothing breaks, whatever the order.</p>"
        return
    calm = sum(one.undisturbed for one in ways)
    many = len(answer.result.counterexamples)
    yield (
        f"<p>{times(many, 'invariant')} broke. For each the shortest way to break it was taken; where one way is "
        "only the "
        f"beginning of another, both are told together: {times(len(ways) - calm, 'way')} to read"
        f"{', and one on which nobody touches anything' if calm else ''}.</p>"
    )
    restarts = any(moment.worker.startswith("restart: ") for way in ways for moment in way.moments)
    yield drawing.legend(components=_about(answer.words), restarts=restarts)
    places = places_of(ways)
    for number, way in enumerate(ways, 1):
        yield from _way(answer, number, way, places)


def places_of(ways: Sequence[Retold]) -> Mapping[str, int]:
    """Return for each invariant the number of the way that is told for it."""
    found: dict[str, int] = {}
    for number, way in enumerate(ways, 1):
        for one in way.examples:
            found.setdefault(one.invariant, number)
    return found


def _about(words: Wording) -> str:
    if len(words.gates) == 1:
        return f'Lanes of components: "gate on" and "gate off" are about {words.gates[0]}.'
    return ""


def _way(answer: Answer, number: int, way: Retold, places: Mapping[str, int]) -> Iterator[str]:
    place = f' id="{undisturbed.UNDISTURBED}"' if way.undisturbed else ""
    yield f"<h3{place}>Way {number}: {html(headline(answer.words, way))}</h3>"
    yield "<ul>"
    for one in way.examples:
        demand = INVARIANTS.get(one.invariant, "Demanded by the plan.")
        anchor = f' id="{escape(one.invariant)}"' if places[one.invariant] == number else ""
        yield (
            f"<li{anchor}>{badge('broken', 'bad')} <code>{escape(one.invariant)}</code> "
            f"in step {len(one.moves)}: {escape(answer.words.reworded(one.text.rstrip('.')))}. <span "
            f"class='soft'>({escape(demand)})</span></li>"
        )
    for name, step, text in _besides(way):
        yield (
            f"<li>{badge('broken', 'bad')} <code>{escape(name)}</code> in step {step}, too: "
            f'{escape(answer.words.reworded(text))} <a href="#{escape(name)}">(also in Way {places[name]})</a></li>'
        )
    yield "</ul>"
    own = {one.invariant for one in way.examples}
    elsewhere = {name: at for name, at in places.items() if name not in own}
    yield '<ol class="steps">'
    for index in range(len(way.stages)):
        yield from _step(answer.words, way, index, elsewhere)
    yield "</ol>"
    yield from _picture(answer.words, way, number)
    yield "<h4>How would I notice?</h4>"
    yield from _noticing(way)
    for index in range(len(way.stages)):
        yield from _pace(way, index)
    yield folded("All events", events_table(told for _, told in events_of(way.moments)))
    yield folded("Play it yourself", _replay(way))


def _besides(way: Retold) -> Iterator[tuple[str, int, str]]:
    """Yield what breaks in a way beside what it is told for: the invariant, the step, and how."""
    known = {one.invariant for one in way.examples}
    for number, stage in enumerate(way.stages, 1):
        for one in stage.told.taken.breaks:
            if one.invariant not in known:
                known.add(one.invariant)
                yield one.invariant, number, one.text


def headline(words: Wording, way: Retold) -> str:
    """Return a way in a line."""
    orders = {phase: [move.component for move in way.moves if isinstance(move, Changes) and move.phase is phase]
              for phase in Phase}  # fmt: skip
    told = [f"{words.verb(phase)} {order_text(tuple(names))}" for phase, names in orders.items() if names]
    return f"{', then '.join(told)}{', with nobody touching anything' if way.undisturbed else ''}"


def _step(words: Wording, way: Retold, index: int, elsewhere: Mapping[str, int]) -> Iterator[str]:
    stage = way.stages[index]
    told = stage.told
    lasted = f"<span class='soft'>(virtual time {told.began:.0f} s to {told.ended:.0f} s)</span>"
    broken = dict.fromkeys(one.invariant for one in told.taken.breaks)
    known = {name: f" (also in Way {elsewhere[name]})" if name in elsewhere else "" for name in broken}
    marks = "".join(f" {badge(f'breaks {name}{also}', 'bad')}" for name, also in known.items())
    yield f"<li><b>{escape(words.move(told.move))}</b> {lasted}{marks}"
    yield "<ul>" + "".join(f"<li>{line}</li>" for line in happened(words, way, index)) + "</ul>"
    if told.why and not stage.unserved:
        lines = "".join(
            f"<li>{escape(one.workload)}, {escape(one.harm)}: {escape(one.told())}</li>" for one in told.why
        )
        yield folded(
            "What mockkube why says of one such pod each: what was compared, what would help (asked at the end of the "
            "step, of a pod that had met with nothing else since)",
            f"<ul>{lines}</ul>",
        )
    yield "</li>"


def happened(words: Wording, way: Retold, index: int) -> list[str]:
    """Return what happened in a step, the causes first."""
    stage = way.stages[index]
    causes = [f'<span class="why"><b>Why:</b> {escape(words.reworded(text))}</span>' for text in causes_of(way, index)]
    lines = [*_loop(way.plan, stage), *_deleted(way, index), *_facts(stage), *_waits(stage), *_refusals(way, index)]
    if causes and lines:
        return [*causes, *lines]
    return lines or ["nothing bad happens"]


def causes_of(way: Retold, index: int) -> list[str]:
    """Return why the harm of a step was done: what each of those who did it could not know."""
    stage = way.stages[index]
    settings: Mapping[str, Setting] = settings_after(way.plan, way.moves[: index + 1])
    found: dict[str, None] = {}
    for fact in stage.told.facts:
        own = next(
            (one for one in way.journey.intent.workloads if fact.of in (one.name, "") and _is_of(fact, one)), None
        )
        if fact.harm != "created" and fact.component in settings:
            found[why(way.plan, fact.component, settings[fact.component], own)] = None
    if stage.told.stuck and not stage.told.taken.harm.loops:
        found.update(dict.fromkeys(_why_waiting(way, stage, settings)))
    return [text for text in found if text]


def _is_of(fact: Fact, workload: Workload) -> bool:
    """Whether something happened to a workload, or to what a controller makes of it."""
    return bool(fact.of) or fact.object.partition("/")[2].startswith(workload.manifest["metadata"]["name"])


def _why_waiting(way: Retold, stage: Stage, settings: Mapping[str, Setting]) -> Iterator[str]:
    scheduler = settings.get("kube-scheduler")
    if stage.unserved:
        mine = (scheduler.version if scheduler else None) or str(way.plan.version)
        server = settings.get("kube-apiserver")
        theirs = (server.version if server else None) or str(way.plan.version)
        yield (
            f"kube-scheduler {mine} lists and watches {listed(stage.unserved)} before it decides anything. "
            f"kube-apiserver {theirs} does not serve that, so its informers never fill: from its start on it "
            "schedules no "
            "pod at all, of any kind. What the pods ask for has nothing to do with it."
        )
    elif scheduler is not None:
        yield from sorted({why(way.plan, "kube-scheduler", scheduler, own) for own in way.journey.intent.workloads})


def _loop(plan: Plan, stage: Stage) -> Iterator[str]:
    if stage.told.taken.harm.loops:
        made = sum(fact.harm == "created" for fact in stage.told.facts)
        yield (
            f"{badge('hot loop', 'bad')} pods are made over and over: the step was cut off after {made} of them "
            f"(more than {plan.creations_max}). <span class='soft'>In the tables this step counts as: "
            f"{escape(glossary.harm_text(stage.told.taken.harm))}; in a loop each workload counts once for each kind "
            "of harm.</span>"
        )


def _deleted(way: Retold, index: int) -> Iterator[str]:
    """Say which pods the user deleted, as a disturbance or in a preparation: that is no harm."""
    last = way.stages[index + 1].moment if index + 1 < len(way.stages) else len(way.moments)
    counts: Counter[str] = Counter()
    for moment in way.moments[way.stages[index].moment : last]:
        if moment.worker == OPERATOR:
            counts.update(
                _DRAWN.sub("-*", one.name.removeprefix("default/"))
                for one in moment.writes
                if one.resource == "core/pods" and one.verb == "delete"
            )
    for name, count in counts.items():
        yield (
            f"the user deletes {times(count, 'pod')}: {escape(name)} <span class='soft'>(a disturbance, no harm)</span>"
        )


def _facts(stage: Stage) -> Iterator[str]:
    lines = Counter(_DRAWN.sub("-*", fact.told()) for fact in stage.told.facts if fact.harm != "created")
    for text, count in lines.items():
        yield f"{escape(text)}{f' <b>×{count}</b>' if count > 1 else ''}"


def _waits(stage: Stage) -> Iterator[str]:
    if stage.told.taken.harm.loops:
        return
    grouped: Counter[tuple[str, str]] = Counter()
    for text in stage.told.stuck:
        name, _, message = text.partition(": ")
        grouped[_DRAWN.sub("-*", name.removeprefix("default/")), message] += 1
    for (name, message), count in grouped.items():
        said = f"{UNTRIED}: no event, no condition" if message == UNTRIED else message
        yield f"{times(count, 'pod')} Pending at the end of the step: {escape(name)}: {escape(said)}"


def _refusals(way: Retold, index: int) -> Iterator[str]:
    """Say what users were refused; in the words of the API server when they hear it for the first time."""
    texts = dict.fromkeys(way.stages[index].told.refused)
    before = {text for stage in way.stages[:index] for text in stage.told.refused}
    new, old = [text for text in texts if text not in before], [text for text in texts if text in before]
    for text in new:
        yield f"the API server refuses the user: {escape(quoted(text))}"
    if old:
        names = listed(escape(text.partition(":")[0]) for text in old)
        yield f"the API server refuses the user still, in the same words: {names}"


@dataclass(frozen=True, slots=True)
class _Teller:
    """Knows the states of components in a plan."""

    words: Wording
    phase: Phase = Phase.DOWN

    def start(self, component: str) -> str:
        """Return what it is before all."""
        change = next((one for one in self.words.plan.changes if one.component == component), None)
        return self.words.state(change, self.phase) if change is not None else ""

    def told(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        """Return what it is then."""
        return self.words.setting(component, Setting(version or None, gates))


def _picture(words: Wording, way: Retold, number: int) -> Iterator[str]:
    boundaries = [
        Boundary(stage.moment, str(index), f"{index} {words.move(stage.told.move)}")
        for index, stage in enumerate(way.stages, 1)
    ]
    for drawn in build(way.moments, boundaries, _Teller(words), way.stages[-1].told.ended):
        yield drawing.timeline(drawn, f"Timeline of way {number}")
    yield (
        '<p class="soft">A column is a moment at which something changed, so time is not to scale: many columns '
        "can share "
        'one second. "+N alike": so many more pods of the same owner went through the same states, maybe on '
        "other nodes "
        "and at other times.</p>"
    )


def _noticing(way: Retold) -> Iterator[str]:
    rows = []
    for index, stage in enumerate(way.stages):
        harm = stage.told.taken.harm
        if not stage.told.taken.breaks and not harm.refused:
            continue
        rows += [
            [str(index + 1), f"<code>{escape(one.who)}</code>", html(one.what), one.soon, one.often,
             f'<code class="command">{escape(one.command)}</code>']
            for one in signs(way, index)
        ]  # fmt: skip
    heads = ("Step", "From", "What shows", "How soon", "How often", "Ask with")
    yield table(heads, rows, "What shows in the steps that do harm; times are virtual, from the beginning of the step")


def _pace(way: Retold, index: int) -> Iterator[str]:
    """Draw how fast the loop of a step goes."""
    rate = way.rate(index) if way.stages[index].told.taken.harm.loops else None
    if rate is None:
        return
    yield (
        f"<p><b>How fast the loop of step {index + 1} goes</b>, left to itself for {rate.window_seconds} s of virtual "
        "time, pods made in each second:</p>"
    )
    for one in rate.made:
        label = f"{one.workload}: {rate.per_minute(one.workload):.0f} a minute"
        yield f"<p>{escape(label)}</p>{drawing.bars([count for _, count in one.series], label)}"


def events_table(events: Iterator[Told]) -> str:
    """Return the events of a run as a table."""
    rows = [
        [f"{one.first:.0f} s" if one.first == one.last else f"{one.first:.0f} to {one.last:.0f} s",
         f"<code>{escape(one.reason)}</code>", escape(one.object), escape(quoted(one.message)), escape(one.reporter),
         str(one.times)]
        for one in gathered(events)
    ]  # fmt: skip
    caption = (
        "Events, those alike together. As in a real cluster, who reports events drops what repeats too often: "
        "there may "
        "be fewer of them than things that happened"
    )
    return table(("At", "Reason", "Object", "Message", "From", "Times"), rows, caption)


def _replay(way: Retold) -> str:
    plan, examples = way.plan, way.examples
    last = undisturbed.shown(way) if way.undisturbed else examples[-1]
    if last is None:
        return "<p>All pods are back at its end: there is nothing left to be claimed.</p>"
    others = [] if way.undisturbed else [one.invariant for one in examples[:-1]]
    more = (
        f" For {listed(f'`{name}`' for name in others)}: `mockkube explore {plan.name}.yaml --trace NAME`."
        if others
        else ""
    )
    how = (
        f"Breaks `{last.invariant}`. Save it as `broken.yaml`, then run `mockkube test -v broken.yaml`. It ends with 0 "
        f"when the harm is there, with 1 when it is not.{more} In the file, `holds: false` says that the claim is "
        "shown not "
        "to hold, `expect: [{check: {}}]` that an object may be refused or accepted, and `skewPolicy: ignore` that no "
        f"mix of versions is held back{'.' if concerned(plan) else ' (here versions are equal).'}"
    )
    return f"<p>{html(how)}</p><pre>{escape(scenario_of(plan, last, way.journey))}</pre>"


def summary_of(answer: Answer, way: Retold, places: Mapping[str, int]) -> str:
    """Return a way in a sentence, for forms without pictures."""
    broken = [
        f"`{one.invariant}` in step {len(one.moves)} ({answer.words.reworded(one.text.rstrip('.'))})"
        for one in way.examples
    ]
    besides = [f"`{name}` in step {step}, as in Way {places[name]}" for name, step, _ in _besides(way)]
    meant = listed(meanings(each for stage in way.stages for each in stage.told.taken.breaks))
    return f"{headline(answer.words, way)}: {meant}. Broken: {'; '.join([*broken, *besides])}."
