"""An exploration as an answer to the questions of a Production Readiness Review, to be pasted into an enhancement."""

from collections.abc import Iterator

from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.verdict import Counterexample, Exploration, OrderVerdict
from mockkube.scenario.report.summary import again, order_text


def render(result: Exploration) -> str:
    """Return the answers in Markdown, each with its evidence."""
    return "\n".join([*_head(result), *_enabling(result), *_rolling_back(result), *_again(result), *_failing(result),
                      *_tested(result), *_skew(result), *_evidence(result), ""])  # fmt: skip


def _head(result: Exploration) -> Iterator[str]:
    yield f"<!-- mockkube explore {result.plan.name}: {result.walks} walks, seed {result.plan.seed} -->"
    yield "### Feature Enablement and Rollback"
    yield ""


def _enabling(result: Exploration) -> Iterator[str]:
    yield "###### How can this feature be enabled / disabled in a live cluster?"
    yield ""
    yield from (f"- `{one.component}`: {one.after}" for one in result.plan.changes)
    yield ""
    safe = [one for one in result.of(Phase.UP) if one.safe]
    yield _share(safe, result.of(Phase.UP), "enablement")
    yield ""
    yield from (f"- {order_text(one.order)}" for one in safe)
    yield from _claims(result, Phase.UP)
    yield ""


def _share(safe: list[OrderVerdict], every: list[OrderVerdict], noun: str) -> str:
    """Say how many are safe."""
    return f"{len(safe) or 'None'} of the {len(every)} orders of {noun} {'are' if len(safe) > 1 else 'is'} safe."


def _claims(result: Exploration, phase: Phase) -> Iterator[str]:
    for written, one in result.written():
        if written.phase is not phase:
            continue
        found = "is safe" if one.safe else f"is not safe: {_broken(one)} ({one.worst.harm})"
        said = {True: ", which it calls safe,", False: ", which it calls harmful,", None: ""}[written.claim]
        yield f'- Written order "{written.name}" ({order_text(written.order)}){said} {found}.'


def _broken(one: OrderVerdict) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(each.invariant for each in one.worst.breaks))


def _rolling_back(result: Exploration) -> Iterator[str]:
    yield "###### Can the feature be disabled once it has been enabled (i.e. can we roll back the enablement)?"
    yield ""
    every = result.of(Phase.DOWN)
    plain = [one for one in every if not one.prepares]
    safe = [one for one in plain if one.safe]
    if safe:
        yield "Yes. " + _share(safe, plain, "rollback")
    else:
        best = plain[0]
        yield (
            "Yes, but not without harm while workloads use it. " + _share(safe, plain, "rollback") + " The least harm "
            f"does {order_text(best.order)}: {best.worst.harm}."
        )
    yield ""
    yield from _claims(result, Phase.DOWN)
    yield ""


def _again(result: Exploration) -> Iterator[str]:
    yield "###### What happens if we reenable the feature if it was previously rolled back?"
    yield ""
    yield again(result)
    yield ""


def _failing(result: Exploration) -> Iterator[str]:
    yield "### Rollout, Upgrade and Rollback Planning"
    yield ""
    yield "###### How can a rollout or rollback fail? Can it impact already running workloads?"
    yield ""
    if not result.counterexamples:
        yield "No invariant broke in any order."
    for one in result.counterexamples:
        yield f"- `{one.invariant}`: {_way(one)} {one.text}."
    yield ""


def _way(one: Counterexample) -> str:
    return f"after {len(one.moves)} step{'s' * (len(one.moves) > 1)} ({', '.join(map(str, one.moves))}):"


def _tested(result: Exploration) -> Iterator[str]:
    yield "###### Were upgrade and rollback tested? Was the upgrade->downgrade->upgrade path tested?"
    yield ""
    yield (
        f"All {len(result.of(Phase.UP))} orders up were followed by all orders down and by going up again: "
        f"{result.walks} ways on a simulated Kubernetes {result.plan.version} ({result.states} different states), "
        "disturbed by: " + ("; ".join(one.name for one in result.plan.disturbances) or "none") + "."
    )
    yield ""


def _skew(result: Exploration) -> Iterator[str]:
    yield "### Version Skew Strategy"
    yield ""
    yield "What happens while only some components have changed, on the way up:"
    yield ""
    yield "| order of enablement | safe | harm | breaks |"
    yield "| --- | --- | --- | --- |"
    for one in result.of(Phase.UP):
        yield f"| {order_text(one.order)} | {'yes' if one.safe else 'no'} | {one.worst.harm} | {_broken(one) or '-'} |"
    yield ""


def _evidence(result: Exploration) -> Iterator[str]:
    yield "<details><summary>What was asked</summary>"
    yield ""
    yield from (f"- `{one.name}`: {INVARIANTS.get(one.name, 'as the plan says')}" for one in result.plan.demands)
    yield ""
    yield f"Reproduce: `mockkube explore {result.plan.name}.yaml --seed {result.plan.seed} -o md`"
    yield ""
    yield "</details>"
