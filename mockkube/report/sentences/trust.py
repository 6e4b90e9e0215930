"""Limits of a report: what ran, what was tried, and what was not."""

from collections.abc import Iterator

from mockkube.cluster.simulated_cluster import CONTROLLER_CLIENT_LIMITS
from mockkube.explore.conclusions import changes_versions
from mockkube.explore.plans.plan import Direction, DisturbanceTiming
from mockkube.features.versions import DEFAULT, Version
from mockkube.report.sentences.answer import NOT_EXERCISED, Answer
from mockkube.report.wording import count_noun, join_words, tool_name


def describe_engine(kubernetes: str = str(DEFAULT)) -> str:
    """Say that a simulation ran, and name its Kubernetes version."""
    return (
        f"**A simulated cluster, not real binaries.** {tool_name()} is a model of the Kubernetes {kubernetes} control "
        "plane (API server, scheduler, controllers, kubelets) written in Python, and checked against recordings of the "
        'real one. Containers do not run. Time is virtual: the clock stands still while components work, so "0 s" '
        "means *at once*, not how fast a real cluster is."
    )


def list_caveats(answer: Answer) -> Iterator[str]:
    """Yield what a reader must know before acting on an exploration."""
    yield describe_engine(_versions(answer))
    yield _cluster(answer)
    yield _tried(answer)
    yield _time(answer)
    yield _counts(answer)
    yield _sharing(answer)
    yield _untried(answer)


def _versions(answer: Answer) -> str:
    plan = answer.plan
    versions = {
        str(plan.version),
        *(one.setting_for(direction).version or str(plan.version) for one in plan.changes for direction in Direction),
    }
    return join_words(sorted(versions, key=Version.parse))


def _cluster(answer: Answer) -> str:
    plan = answer.plan
    others = "" if changes_versions(plan) else " All versions are equal, so the skew policy does not apply."
    return (
        f"**The cluster:** {count_noun(len(plan.nodes), 'node')}, one API server, one scheduler, one controller "
        "manager; the "
        f"kubelets of all nodes change at once. The version skew policy was not enforced.{others}"
    )


def _tried(answer: Answer) -> str:
    plan, words = answer.plan, answer.words
    ups, downs, ready = (
        len(answer.unprepared(Direction.UP)),
        len(answer.unprepared(Direction.DOWN)),
        len(answer.prepared()),
    )
    prepared = f" and {count_noun(ready, 'prepared one')}" if ready else ""
    what = (
        f"a change of version ({words.subject})" if words.is_upgrade else f"{words.subject} at version {plan.version}"
    )
    return (
        f"**Tried:** {what}; every order to {words.verb(Direction.UP)} ({ups}) followed by every order to "
        f"{words.verb(Direction.DOWN)} ({downs}{prepared}): {answer.result.path_count} paths, with the workloads and "
        "disturbances "
        f"below, one seed ({plan.seed})."
    )


def _time(answer: Answer) -> str:
    plan = answer.plan
    names = [f'"{one.name}"' for one in plan.disturbances if one.when is DisturbanceTiming.EVERY_STEP]
    after = ""
    if names:
        sequence = "follows, with" if len(names) == 1 else "follow in this sequence, each with"
        after = f" {join_words(names)} {sequence} the same pause."
    return (
        f"**Timing:** after each change {plan.seconds} s of virtual time pass.{after} Other sequences of events, "
        "and longer pauses between changes, were not tried."
    )


def _counts(answer: Answer) -> str:
    return (
        f"**Counts:** a hot loop is cut off once more than {answer.plan.creations_max} pods were created in one "
        "move, so the counts of such a move are lower bounds: compare orders first by which invariants broke, then by "
        f"the order of magnitude of their harm; a difference of a few points means nothing.{_pace(answer)}"
    )


def _pace(answer: Answer) -> str:
    """Say how the rate of hot loops was measured."""
    if not answer.result.rates:
        return ""
    windows = " or ".join(str(seconds) for seconds in sorted({one.window_seconds for one in answer.result.rates}))
    return (
        f" The rate of hot loops was measured in a separate run, over {windows} s of virtual time, with "
        f"the real limits of kube-controller-manager's client ({CONTROLLER_CLIENT_LIMITS['kube-api-qps']} requests a "
        f"second, {CONTROLLER_CLIENT_LIMITS['kube-api-burst']} at once) and of kube-scheduler's; "
        "other limits of a real cluster are not simulated."
    )


def _sharing(answer: Answer) -> str:
    result = answer.result
    text = (
        "**Shared states:** paths that reach the same cluster state share the results of the moves that follow "
        f"({result.path_count} paths, {result.states} states, {result.distinct_moves} different moves). "
    )
    return f"{text}{_describe_repetitions(answer)}{_checked(answer)}"


def _describe_repetitions(answer: Answer) -> str:
    result = answer.result
    if not result.mismatches:
        return "No repeated move had another result."
    verdicts = (
        "The same invariants broke, so verdicts are valid; counts may differ."
        if not result.verdict_mismatches
        else f"Other invariants broke in {result.verdict_mismatches} of them: verdicts of orders that contain such a "
        "move are not reliable."
    )
    return f"{count_noun(result.mismatches, 'repeated move')} had another result. {verdicts}"


def _checked(answer: Answer) -> str:
    checked = answer.result.checked
    if checked is None:
        return ""
    others = len(checked.differences)
    found = f"{others} had another result" if others else "all had the same results"
    return (
        f" {count_noun(checked.path_count, 'path')}, chosen at random, were also run from start to end without shared "
        f"results: {found}."
    )


def _untried(answer: Answer) -> str:
    gate = "" if answer.words.is_upgrade else "a change of version (here a gate changes, nothing else), "
    idle = "".join(
        f"{join_words(f'`{name}`' for name in names)} in the {direction.noun} ({NOT_EXERCISED}), "
        for direction in Direction
        if (names := answer.not_exercised(direction))
    )
    return (
        f"**Not tried:** {idle}{gate}several API servers of which only some have changed, kubelets node by node, a "
        "change of leader, other workloads, sizes and load, real latencies, metrics and alerts."
    )
