"""An exploration as an answer to the questions of a Production Readiness Review, to be pasted into an enhancement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.scenario.explore.conclusions import changes_versions
from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.replay import UNDISTURBED, Evidence, Replay
from mockkube.scenario.explore.verdict import OrderVerdict, Verdict
from mockkube.scenario.report import breaking, glossary, reproducing, trust
from mockkube.scenario.report.answer import Answer
from mockkube.scenario.report.meaning import broken
from mockkube.scenario.report.noticing import signs
from mockkube.scenario.report.wording import SHORT, order_text
from mockkube.scenario.report.workloads import nodes, preparation, workloads

_SAFE: Final = {Verdict.SAFE: "yes", Verdict.UNSAFE: "no", Verdict.NOT_TRIED: "not tried"}


def render(evidence: Evidence) -> str:
    """Return the answers in Markdown, each with its evidence."""
    answer, ways = Answer(evidence.result, evidence), evidence.replays
    parts = [_head(answer), _rolling_out(answer), _rolling_back(answer), _again(answer), _failing(answer, ways),
             _noticed(ways), _tested(answer), _skew(answer), _evidence(answer, ways)]  # fmt: skip
    return "\n".join([line for part in parts for line in part] + [""])


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield title
    yield ""
    yield from lines
    yield ""


def _bullets(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    return (f"- {line}" for line in lines)


def _head(answer: Answer) -> Iterator[str]:
    result = answer.result
    yield f"<!-- mockkube explore {result.plan.name}: {result.walks} ways, seed {result.plan.seed} -->"
    yield f'Found with {trust.tool()} on a *simulated* cluster, see "How far to trust this" at the end.'
    yield ""
    yield "### Feature Enablement and Rollback"
    yield ""


def _rolling_out(answer: Answer) -> Iterator[str]:
    plan, words = answer.plan, answer.words
    question = "###### How can this feature be enabled / disabled in a live cluster?"
    if words.upgrades:
        question += (
            f"\n\nNothing is enabled here: what was tried is the upgrade from {words.subject} and the downgrade."
        )
    if len(words.gates) == 1:
        question += f'\n\nBy the feature gate {words.subject}, called "gate" below, one component after the other:'
    rows = [
        f"`{one.component}`: {words.state(one, Phase.DOWN)}, then {words.state(one, Phase.UP)}" for one in plan.changes
    ]
    yield from _section(question, list(_bullets([*rows, *answer.on(Phase.UP)])))
    yield from _notes(answer)


def _notes(answer: Answer) -> Iterator[str]:
    if answer.plan.notes:
        yield "###### Note on written orders"
        yield ""
    for note in answer.plan.notes:
        yield f"> {' '.join(note.split())}"
        yield ""


def _rolling_back(answer: Answer) -> Iterator[str]:
    question = "###### Can the feature be disabled once it has been enabled (i.e. can we roll back the enablement)?"
    yield from _section(question, list(_bullets([_short(answer), *answer.on(Phase.DOWN)])))
    for one in answer.prepared():
        known = preparation(answer.plan, one.prepares)
        if known is not None:
            yield f'<details><summary>The preparation of "{one.prepares}", as steps of a scenario</summary>'
            yield f"\n```yaml\n{known.manifest}```\n\n</details>\n"


def _short(answer: Answer) -> str:
    """Answer the question in a word."""
    if answer.words.upgrades:
        return "There is no gate here to be disabled; what was tried is the downgrade."
    if answer.safe(Phase.DOWN):
        return "Yes."
    if not answer.unsafe(Phase.DOWN):
        return "Not tried: nothing was created, changed or restarted on the path down."
    if any(one.safe for one in answer.prepared()):
        return "Only after the workloads have been prepared; without that every order does harm while workloads use it."
    return "Not without harm while workloads use it: no order was safe."


def _again(answer: Answer) -> Iterator[str]:
    question = "###### What happens if we reenable the feature if it was previously rolled back?"
    yield from _section(question, [answer.again()])


def _failing(answer: Answer, ways: Sequence[Replay]) -> Iterator[str]:
    yield "### Rollout, Upgrade and Rollback Planning"
    yield ""
    question = "###### How can a rollout or rollback fail? Can it impact already running workloads?"
    places = breaking.places_of(ways)
    told = [_way(answer, number, way, places) for number, way in enumerate(ways, 1)]
    yield from _section(question, told or ["No invariant broke in any order."])


def _way(answer: Answer, number: int, way: Replay, places: Mapping[str, int]) -> str:
    place = f'<a id="{UNDISTURBED}"></a>' if way.undisturbed else ""
    lines = [f"- {place}**Way {number}.** {breaking.summary_of(answer, way, places)}"]
    for index in range(len(way.steps)):
        causes = [answer.words.reworded(text) for text in breaking.causes_of(way, index)]
        lines += [f"  - Step {index + 1}: {text}" for text in causes]
    return "\n".join(dict.fromkeys(lines))


def _noticed(ways: Sequence[Replay]) -> Iterator[str]:
    question = "###### What specific metrics should inform a rollback?"
    if not ways:
        return
    head = [
        "Metrics were not looked at. What shows (virtual time, from the beginning of the step that does harm):",
        "",
        "| way, step | from | what shows | how soon | how often | ask with |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows = [row for number, way in enumerate(ways, 1) for row in _signs(number, way)]
    yield from _section(question, [*head, *rows])


def _signs(number: int, way: Replay) -> Iterator[str]:
    for index, step in enumerate(way.steps):
        if step.record.taken.breaks or step.record.taken.harm.refused:
            for one in signs(way, index):
                where = f"{number}, {index + 1}"
                yield f"| {where} | {one.who} | {_cell(one.what)} | {one.soon} | {one.often} | `{one.command}` |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _tested(answer: Answer) -> Iterator[str]:
    question = "###### Were upgrade and rollback tested? Was the upgrade->downgrade->upgrade path tested?"
    plan, words = answer.plan, answer.words
    path = f"{words.verb(Phase.UP)}, {words.verb(Phase.DOWN)}, {words.verb(Phase.UP)} again"
    gate = "" if words.upgrades else f" A gate was changed at Kubernetes {plan.version}, no version."
    yield from _section(
        question,
        [
            f'The path "{path}" was, on a simulated cluster, in {answer.result.walks} combinations of orders.{gate}',
            f"Disturbed by: {'; '.join(one.name for one in plan.disturbances)}."
            if plan.disturbances
            else "Undisturbed.",
            "",
            *_bullets(nodes(plan)),
            *_bullets(workloads(plan)),
        ],
    )


def _skew(answer: Answer) -> Iterator[str]:
    yield "### Version Skew Strategy"
    yield ""
    yield (
        "What happens while only some components have changed. Harm is explained below the tables; each table "
        "counts its "
    )
    yield f"own way alone. {_independence(answer)}"
    yield ""
    for phase in Phase:
        yield from _orders(answer, phase)
        yield ""
    yield from _bullets([f"`{name}` (weight {weight}): {text}" for name, weight, text in glossary.weights()])
    yield ""
    yield f"{glossary.SUMMED} {glossary.SAFE}"
    yield ""


def _independence(answer: Answer) -> str:
    if answer.independent:
        return "Each way down did the same harm whatever way up came before it."
    return "The most over all ways that it was combined with."


def _orders(answer: Answer, phase: Phase) -> Iterator[str]:
    yield answer.mechanism(phase)
    yield ""
    yield from _order_head(answer, phase)
    yield from _order_rows(answer, phase, answer.unprepared(phase))
    if phase is Phase.DOWN and (ready := answer.prepared()):
        yield ""
        yield "Prepared, and so not comparable with the table above:"
        yield ""
        yield from _order_head(answer, phase)
        yield from _order_rows(answer, phase, ready)


def _order_head(answer: Answer, phase: Phase) -> Iterator[str]:
    policy = changes_versions(answer.plan)
    yield f"| order to {answer.words.verb(phase)} |{' skew policy |' if policy else ''} safe | harm | counts | breaks |"
    yield f"| --- |{' --- |' if policy else ''} --- | --- | --- | --- |"


def _order_rows(answer: Answer, phase: Phase, orders: Sequence[OrderVerdict]) -> Iterator[str]:
    policy = changes_versions(answer.plan)
    for one in orders:
        skew = ""
        if policy:
            skew = " supported |" if answer.is_supported(phase, one.order) else " not supported |"
        yield (
            f"| {_named(one)} |{skew} {_SAFE[one.verdict]}{_besides(one)} | {one.worst.harm.score} | "
            f"{glossary.harm_text(one.worst.harm)} | {', '.join(f'`{name}`' for name in broken(one)) or '-'} |"
        )


def _besides(one: OrderVerdict) -> str:
    """Name the components that a safe order says nothing of."""
    names = one.not_exercised if one.safe else ()
    return f"; not tried: {', '.join(SHORT.get(name, name) for name in names)}" if names else ""


def _named(one: OrderVerdict) -> str:
    ready = ", prepared" if one.prepares else ""
    written = "; ".join(f'"{each.name}"' for each in one.written)
    return f"{order_text(one.order)}{ready}{f' (written: {written})' if written else ''}"


def _evidence(answer: Answer, ways: Sequence[Replay]) -> Iterator[str]:
    yield "### How far to trust this"
    yield ""
    yield from _bullets(trust.reasons(answer))
    yield ""
    yield "<details><summary>What was asked, and how to reproduce it</summary>"
    yield ""
    yield from (f"- `{name}`: {text}" for name, text in glossary.demanded(answer.plan))
    yield ""
    yield from _bullets(reproducing.lines(answer))
    if answer.plan.text:
        yield f"\n{answer.plan.name}.yaml:\n\n```yaml\n{answer.plan.text}```"
    yield ""
    yield "</details>"
