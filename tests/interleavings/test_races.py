"""Races that are known from the tracker of Kubernetes are found, with a trace that can be replayed."""

from dataclasses import replace
from pathlib import Path

import pytest

from mockkube.controllers.job.state import JobState
from mockkube.controllers.replicaset import ReplicaSetController
from mockkube.explore.interleavings import plan_file
from mockkube.explore.interleavings.exploration import explore_interleavings
from mockkube.explore.interleavings.forked_player import ForkedPlayer
from mockkube.explore.interleavings.schedule import Schedule
from mockkube.explore.interleavings.search import SearchBounds
from mockkube.report.interleavings import make_replay_plan, render_markdown, render_text, to_json
from mockkube.runtime.clock import RealClock
from mockkube.scenario.fields import SourceLocation

RACES = Path(__file__).parents[2] / "conformance/races"
# The searches are bounded by their depth: on a slow machine they find the same.
BOUNDS = SearchBounds(depth=1, seconds=3600)
SLOW = (
    "114603-deleted-for-old-owner",
    "114603-deleted-for-old-owner-fixed",
    "119862-evicted-for-removed-taint",
    "123434-quota-exceeded",
)


def mark(file):
    marks = (pytest.mark.slow,) if file.stem in SLOW else (pytest.mark.slow, pytest.mark.long)
    return pytest.param(file.stem, marks=marks)


def explore(plan):
    return explore_interleavings(plan, BOUNDS, RealClock(), lambda result, waiting: None, processes=2)


def load(name):
    [plan] = plan_file.load(RACES / f"{name}.yaml")
    return plan


@pytest.fixture(scope="module")
def stale_labels():
    """Return the exploration of a race that is found quickly."""
    return explore(load("133997-stale-node-labels"))


@pytest.mark.parametrize("name", [mark(file) for file in sorted(RACES.glob("*.yaml"))])
def test_exactly_the_known_invariants_break(name):
    plan = load(name)
    result = explore(plan)
    assert sorted(result.search.breaks) == sorted(plan.expected_breaks)
    assert result.is_as_expected
    assert all(len(played.schedule.changes) == 1 for played, _ in result.search.breaks.values())


def test_a_trace_is_short_and_can_be_replayed(stale_labels):
    result = stale_labels
    assert result.is_as_expected
    [trace] = result.traces
    assert trace.lines[-1].step.worker == "kubelet/pods"
    assert trace.lines[-1].late == ("kubelet/cache/Node",)
    assert "cached Pod default/waiting" in trace.lines[-1].reads
    assert len(trace.lines) < len(trace.played.steps)
    again = plan_file.read_plan(make_replay_plan(result, trace), SourceLocation("replay"))
    replayed = explore(again)
    assert replayed.search.played == 2  # the default schedule, and this one
    assert replayed.traces == result.traces
    command = "mockkube explore stale.yaml --interleavings"
    for text in (render_text([result], command), render_markdown([result], command)):
        assert "1 invariant breaks, as the plan expects: pods-not-rejected." in "".join(text.splitlines()[1:3])
        assert f"{command} --trace pods-not-rejected > race.yaml; mockkube explore race.yaml --interleavings" in text
        assert "the kubelet of node-1 rejects pod default/waiting: NodeAffinity" in text
        assert "kubelet/cache/Node" in text
    assert to_json([result])[0]["breaks"][0]["steps"][-1]["late"] == ["kubelet/cache/Node"]


def test_a_schedule_that_is_not_possible_is_no_finding():
    plan = replace(load("133997-stale-node-labels"), schedule=Schedule(("kube-scheduler/binding",)))
    result = explore(plan)
    assert (result.search.impossible, result.traces) == (1, ())
    assert not replace(result, plan=replace(plan, expected_breaks=())).is_as_expected
    assert "not possible" in render_text([result])


def test_the_same_schedule_leads_to_the_same_run():
    with ForkedPlayer(load("119862-evicted-for-removed-taint"), 2) as player:
        first, second = player.play_all([Schedule(), Schedule()], with_details=True)
    assert first == second


@pytest.fixture(scope="module")
def old_owner():
    """Return the exploration of a race between two requests of one step."""
    return explore(load("114603-deleted-for-old-owner"))


def test_a_race_between_two_requests_is_found_only_in_divided_steps(old_owner):
    [trace] = old_owner.traces
    parts = [line.step for line in trace.lines if line.step.worker.endswith("garbage-collector-controller")]
    assert [part.subject for part in parts if part.continues] == [
        "get ConfigMap default/owned",
        "delete ConfigMap default/owned",
    ]
    whole = explore(replace(old_owner.plan, divided=()))
    assert (whole.traces, whole.search.is_complete) == ((), True)


def test_a_divided_step_is_the_same_in_the_default_order(old_owner):
    def writes(result):
        return [text for step in result.search.default.steps for text in step.writes]

    whole = explore(replace(old_owner.plan, divided=()))
    assert writes(old_owner) == writes(whole)
    assert len(old_owner.search.default.steps) == len(whole.search.default.steps) + 2


def test_a_race_in_a_divided_step_can_be_replayed(old_owner):
    [trace] = old_owner.traces
    again = plan_file.read_plan(make_replay_plan(old_owner, trace), SourceLocation("replay"))
    assert explore(again).traces == old_owner.traces


@pytest.mark.slow
@pytest.mark.long
def test_a_replicaset_controller_that_keeps_expectations_of_a_deleted_set_is_found(monkeypatch):
    monkeypatch.setattr(ReplicaSetController, "_on_set_change", ReplicaSetController.enqueue_changed)
    result = explore(load("69376-replicaset-recreated"))
    assert result.unexpected == ("same-outcome",)
    assert "0 ready pods of ReplicaSet default/web instead of 1" in result.traces[0].broken.message


@pytest.mark.slow
@pytest.mark.long
def test_a_job_controller_that_forgets_which_jobs_it_has_finished_is_found(monkeypatch):
    monkeypatch.setattr(JobState, "has_finished", lambda self, key, uid: False)
    result = explore(load("130103-job-extra-pod"))
    assert result.unexpected == ("replicas-not-exceeded",)
