"""Answers to the questions of a Production Readiness Review in Markdown, to be pasted into a KEP."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.explore.conclusions import changes_versions
from mockkube.explore.exploration import OrderVerdict, SafetyVerdict
from mockkube.explore.plans.plan import Direction
from mockkube.explore.replay import UNDISTURBED, Evidence, Replay
from mockkube.report.pages import replay_summary, reproduction
from mockkube.report.sentences import harm_terms, trust
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.break_descriptions import broken_invariants
from mockkube.report.sentences.symptoms import find_symptoms
from mockkube.report.sentences.workloads import describe_nodes, describe_workloads, find_preparation
from mockkube.report.wording import SHORT, format_order, tool_name

_SAFE: Final = {SafetyVerdict.SAFE: "yes", SafetyVerdict.UNSAFE: "no", SafetyVerdict.NOT_TRIED: "not tried"}


def render(evidence: Evidence) -> str:
    """Return the answers in Markdown, each with its evidence."""
    answer, replays = Answer(evidence.result, evidence), evidence.replays
    parts = [_head(answer), _answer_enablement(answer), _answer_rollback(answer), _answer_reenablement(answer),
             _answer_failures(answer, replays), _answer_metrics(replays), _answer_tests(answer), _answer_skew(answer),
             _evidence(answer, replays)]  # fmt: skip
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
    yield f"<!-- mockkube explore {result.plan.name}: {result.path_count} paths, seed {result.plan.seed} -->"
    yield f'Found with {tool_name()} on a *simulated* cluster, see "How far to trust this" at the end.'
    yield ""
    yield "### Feature Enablement and Rollback"
    yield ""


def _answer_enablement(answer: Answer) -> Iterator[str]:
    plan, words = answer.plan, answer.words
    question = "###### How can this feature be enabled / disabled in a live cluster?"
    if words.is_upgrade:
        question += (
            f"\n\nNothing is enabled here: what was tried is the upgrade from {words.subject} and the downgrade."
        )
    if len(words.gates) == 1:
        question += f'\n\nBy the feature gate {words.subject}, called "gate" below, one component after the other:'
    rows = [
        f"`{one.component}`: {words.describe_state(one, Direction.DOWN)},"
        f" then {words.describe_state(one, Direction.UP)}"
        for one in plan.changes
    ]
    yield from _section(question, list(_bullets([*rows, *answer.answer_sentences(Direction.UP)])))
    yield from _notes(answer)


def _notes(answer: Answer) -> Iterator[str]:
    if answer.plan.notes:
        yield "###### Note on documented orders"
        yield ""
    for note in answer.plan.notes:
        yield f"> {' '.join(note.split())}"
        yield ""


def _answer_rollback(answer: Answer) -> Iterator[str]:
    question = "###### Can the feature be disabled once it has been enabled (i.e. can we roll back the enablement)?"
    yield from _section(question, list(_bullets([_short_answer(answer), *answer.answer_sentences(Direction.DOWN)])))
    for one in answer.prepared():
        known = find_preparation(answer.plan, one.prepares)
        if known is not None:
            yield f'<details><summary>The preparation of "{one.prepares}", as steps of a scenario</summary>'
            yield f"\n```yaml\n{known.manifest}```\n\n</details>\n"


def _short_answer(answer: Answer) -> str:
    """Answer in a word whether the feature can be disabled."""
    if answer.words.is_upgrade:
        return "There is no gate here to be disabled; what was tried is the downgrade."
    if answer.safe(Direction.DOWN):
        return "Yes."
    if not answer.unsafe(Direction.DOWN):
        return "Not tried: nothing was created, changed or restarted in the rollback."
    if any(one.is_safe for one in answer.prepared()):
        return "Only after the workloads have been prepared; without that every order does harm while workloads use it."
    return "Not without harm while workloads use it: no order was safe."


def _answer_reenablement(answer: Answer) -> Iterator[str]:
    question = "###### What happens if we reenable the feature if it was previously rolled back?"
    yield from _section(question, [answer.describe_retry()])


def _answer_failures(answer: Answer, replays: Sequence[Replay]) -> Iterator[str]:
    yield "### Rollout, Upgrade and Rollback Planning"
    yield ""
    question = "###### How can a rollout or rollback fail? Can it impact already running workloads?"
    places = replay_summary.number_invariants(replays)
    lines = [_format_replay(answer, number, replay, places) for number, replay in enumerate(replays, 1)]
    yield from _section(question, lines or ["No invariant broke in any order."])


def _format_replay(answer: Answer, number: int, replay: Replay, places: Mapping[str, int]) -> str:
    place = f'<a id="{UNDISTURBED}"></a>' if replay.undisturbed else ""
    lines = [f"- {place}**Path {number}.** {replay_summary.summarize_replay(answer, replay, places)}"]
    for index in range(len(replay.replayed_moves)):
        causes = [answer.words.reword(text) for text in replay_summary.list_causes(replay, index)]
        lines += [f"  - Move {index + 1}: {text}" for text in causes]
    return "\n".join(dict.fromkeys(lines))


def _answer_metrics(replays: Sequence[Replay]) -> Iterator[str]:
    question = "###### What specific metrics should inform a rollback?"
    if not replays:
        return
    head = [
        "Metrics are not simulated. Signals other than metrics (virtual time since the beginning of the move):",
        "",
        "| path, move | source | signal | delay | frequency | command |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows = [row for number, replay in enumerate(replays, 1) for row in _symptom_rows(number, replay)]
    yield from _section(question, [*head, *rows])


def _symptom_rows(number: int, replay: Replay) -> Iterator[str]:
    for index, replayed in enumerate(replay.replayed_moves):
        if replayed.record.result.breaks or replayed.record.result.harm.refused:
            for one in find_symptoms(replay, index):
                where = f"{number}, {index + 1}"
                cells = (where, one.source, _cell(one.text), one.delay, one.frequency, f"`{one.command}`")
                yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    # A bar would end the cell of the table.
    return text.replace("|", r"\|")


def _answer_tests(answer: Answer) -> Iterator[str]:
    question = "###### Were upgrade and rollback tested? Was the upgrade->downgrade->upgrade path tested?"
    plan, words = answer.plan, answer.words
    path = f"{words.verb(Direction.UP)}, {words.verb(Direction.DOWN)}, {words.verb(Direction.UP)} again"
    gate = "" if words.is_upgrade else f" A gate was changed at Kubernetes {plan.version}, no version."
    yield from _section(
        question,
        [
            f'The path "{path}" was run on a simulated cluster in {answer.result.path_count} combinations of '
            f"orders.{gate}",
            f"Disturbances: {'; '.join(one.name for one in plan.disturbances)}."
            if plan.disturbances
            else "Without disturbances.",
            "",
            *_bullets(describe_nodes(plan)),
            *_bullets(describe_workloads(plan)),
        ],
    )


def _answer_skew(answer: Answer) -> Iterator[str]:
    yield "### Version Skew Strategy"
    yield ""
    yield (
        "What happens while only some components have changed. Harm is explained below the tables; each table "
        "counts the harm"
    )
    yield f"of its own direction only. {_independence(answer)}"
    yield ""
    for direction in Direction:
        yield from _orders(answer, direction)
        yield ""
    yield from _bullets([f"`{name}` (weight {weight}): {text}" for name, weight, text in harm_terms.list_weights()])
    yield ""
    yield f"{harm_terms.COUNTING_RULES} {harm_terms.SAFE_MEANING}"
    yield ""


def _independence(answer: Answer) -> str:
    if answer.independent:
        return "Each order of the rollback did the same harm, whatever order came before it."
    return "Each row shows the worst result over all orders of the other direction."


def _orders(answer: Answer, direction: Direction) -> Iterator[str]:
    yield answer.describe_mechanism(direction)
    yield ""
    yield from _order_head(answer, direction)
    yield from _order_rows(answer, direction, answer.unprepared(direction))
    if direction is Direction.DOWN and (ready := answer.prepared()):
        yield ""
        yield "After changing the workloads, so not comparable with the table above:"
        yield ""
        yield from _order_head(answer, direction)
        yield from _order_rows(answer, direction, ready)


def _order_head(answer: Answer, direction: Direction) -> Iterator[str]:
    policy = changes_versions(answer.plan)
    skew = " skew policy |" if policy else ""
    yield f"| order to {answer.words.verb(direction)} |{skew} safe | harm | counts | breaks |"
    yield f"| --- |{' --- |' if policy else ''} --- | --- | --- | --- |"


def _order_rows(answer: Answer, direction: Direction, orders: Sequence[OrderVerdict]) -> Iterator[str]:
    policy = changes_versions(answer.plan)
    for one in orders:
        skew = ""
        if policy:
            skew = " supported |" if answer.is_supported(direction, one.order) else " not supported |"
        breaks, harm = ", ".join(f"`{name}`" for name in broken_invariants(one)) or "-", one.worst.harm
        yield (
            f"| {_format_order_name(one)} |{skew} {_SAFE[one.verdict]}{_format_untried(one)} | {harm.score} | "
            f"{harm_terms.format_harm(harm)} | {breaks} |"
        )


def _format_untried(one: OrderVerdict) -> str:
    """Name the components that were not tried in a safe order."""
    names = one.not_exercised if one.is_safe else ()
    return f"; not tried: {', '.join(SHORT.get(name, name) for name in names)}" if names else ""


def _format_order_name(one: OrderVerdict) -> str:
    ready = ", prepared" if one.prepares else ""
    written = "; ".join(f'"{each.name}"' for each in one.written_orders)
    return f"{format_order(one.order)}{ready}{f' (documented: {written})' if written else ''}"


def _evidence(answer: Answer, replays: Sequence[Replay]) -> Iterator[str]:
    yield "### How far to trust this"
    yield ""
    yield from _bullets(trust.list_caveats(answer))
    yield ""
    yield "<details><summary>The invariants, and how to reproduce this</summary>"
    yield ""
    yield from (f"- `{name}`: {text}" for name, text in harm_terms.list_invariants(answer.plan))
    yield ""
    yield from _bullets(reproduction.list_commands(answer))
    if answer.plan.text:
        yield f"\n{answer.plan.name}.yaml:\n\n```yaml\n{answer.plan.text}```"
    yield ""
    yield "</details>"
