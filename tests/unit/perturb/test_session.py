"""Sessions: which perturbations share a run, and what becomes of those when something is wrong."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.perturb.output.console import render_result
from mockkube.perturb.output.junit import render_junit
from mockkube.perturb.output.markdown import render_markdown
from mockkube.perturb.output.page import render_report
from mockkube.perturb.output.picture import render_picture
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.session import SessionOptions, SessionResult, run_session
from mockkube.perturb.workload import KnownFinding
from mockkube.perturb.workload_run import RunPlan
from mockkube.runtime.virtual_time import VirtualClock
from tests.unit.perturb.records import record, request, workload

REQUESTS = [request("create", "configmaps", "a", step=1), request("create", "services", "b", step=2)]
CRASHES = ["crash/1/create-configmaps-1", "crash/2/create-services-1"]


class Player:
    """Plays runs that go wrong in the step of a bad perturbation, or with some together."""

    def __init__(self, bad: str = "", together: Sequence[str] = (), unreached: Sequence[str] = ()) -> None:
        self.played: list[str] = []
        self._bad, self._together, self._unreached = bad, frozenset(together), unreached

    async def play(self, plan: RunPlan, clock: Any) -> RunRecord:
        """Play a run in no time."""
        one = plan.perturbation
        run = record(*REQUESTS, perturbation=one)
        run.seconds = 10.0
        if one is None:
            return run
        self.played.append(one.id)
        ids = [part.id for part in one.list_parts()]
        run.reached = frozenset(ids) - (frozenset(self._unreached) if len(ids) > 1 else frozenset())
        wrong = [part.step for part in one.list_parts() if part.id == self._bad]
        if self._together and self._together <= set(ids):
            wrong.append(2)
        if wrong:
            run.error, run.steps = "it stops", run.steps[: wrong[0] + 1]
        return run


async def run(player: Player, **options: Any) -> SessionResult:
    chosen = SessionOptions(jobs=1, references=1, **{"seconds_max": 21.0, **options})
    return await run_session(workload(kinds=("crash",)), chosen, VirtualClock(), lambda progress: None, player.play)


def list_results(result: SessionResult) -> dict[str, bool]:
    """Return whether each perturbation is a finding."""
    return {one.perturbation.id: one.finding is not None for one in result.results}


async def test_each_has_a_run_of_its_own_if_there_is_time() -> None:
    player = Player()
    result = await run(player, seconds_max=600.0)
    assert player.played == CRASHES
    assert (list_results(result), result.runs) == (dict.fromkeys(CRASHES, False), 2)


async def test_otherwise_those_of_different_steps_share_one() -> None:
    player = Player()
    result = await run(player)
    assert player.played == ["+".join(CRASHES)]
    assert (list_results(result), result.runs) == (dict.fromkeys(CRASHES, False), 1)
    assert all(one.is_reached for one in result.results)


async def test_one_by_one_prevents_that() -> None:
    player = Player()
    await run(player, one_by_one=True)
    assert player.played == CRASHES


@pytest.mark.parametrize(
    ("bad", "rest"),
    [
        pytest.param(CRASHES[0], [CRASHES[1]], id="the first: the second was never reached, and follows"),
        pytest.param(CRASHES[1], [CRASHES[0]], id="the second: the first is tried again"),
    ],
)
async def test_the_one_that_goes_wrong_is_found_by_itself(bad: str, rest: list[str]) -> None:
    player = Player(bad)
    result = await run(player)
    # Once to find it, once to confirm it.
    assert player.played[:3] == ["+".join(CRASHES), bad, bad]
    assert list_results(result) == {bad: True, **dict.fromkeys(rest, False)}


async def test_what_goes_wrong_only_together_is_found_together() -> None:
    player = Player(together=CRASHES)
    result = await run(player)
    both = "+".join(CRASHES)
    assert list_results(result) == {**dict.fromkeys(CRASHES, False), both: True}
    assert player.played[:4] == [both, CRASHES[1], CRASHES[0], both]


async def test_what_an_earlier_one_has_prevented_is_tried_alone() -> None:
    player = Player(unreached=[CRASHES[1]])
    result = await run(player)
    assert player.played == ["+".join(CRASHES), CRASHES[1]]
    assert all(one.is_reached for one in result.results)


async def test_a_known_finding_does_not_count() -> None:
    known = KnownFinding(("crash/1/*",), "so it is in Kubernetes")
    player = Player(CRASHES[0])
    chosen = SessionOptions(jobs=1, references=1)
    given = workload(kinds=("crash",), known=(known,))
    result = await run_session(given, chosen, VirtualClock(), lambda progress: None, player.play)
    assert list_results(result) == dict.fromkeys(CRASHES, False)
    assert (result.findings, result.known) == ([], {"so it is in Kubernetes": [CRASHES[0]]})
    assert "Known: crash/1/create-configmaps-1: so it is in Kubernetes" in list(render_result(result))
    assert '<skipped message="known: so it is in Kubernetes" />' in render_junit(result)
    assert "Known: `crash/1/create-configmaps-1`: so it is in Kubernetes" in render_markdown(result)
    assert "known finding" in render_report(result)


async def test_a_combination_can_be_repeated() -> None:
    player = Player(together=CRASHES)
    result = await run(player, only=("+".join(CRASHES),))
    assert list_results(result) == {"+".join(CRASHES): True}


class EarlyPlayer(Player):
    """Plays undisturbed runs that are judged before the controller is done, unless they wait long for rest."""

    def __init__(self, needed: float) -> None:
        super().__init__()
        self.quiet: list[float | None] = []
        self._needed = needed

    async def play(self, plan: RunPlan, clock: Any) -> RunRecord:
        """Play a run; without enough time for rest, the controller writes nothing."""
        one = await super().play(plan, clock)
        if plan.perturbation is None:
            quiet = None if plan.reference is None else plan.reference.quiet_seconds
            self.quiet.append(quiet)
            if (quiet or 0.0) < self._needed:
                one.requests = []
        return one


async def test_undisturbed_runs_are_played_again_when_the_controller_wrote_in_none_of_them() -> None:
    player = EarlyPlayer(needed=5.0)
    result = await run(player, seconds_max=600.0)
    # The first run, once with twice the pause of a first run, once with four times that.
    assert player.quiet == [None, 4.0, 8.0]
    assert list_results(result) == dict.fromkeys(CRASHES, False)
    assert next(render_result(result)) == "The controller recovers from all 2 perturbations."


async def test_a_controller_that_writes_nothing_is_not_said_to_recover() -> None:
    result = await run(EarlyPlayer(needed=60.0))
    lines = list(render_result(result))
    assert lines[0] == "No perturbation took place."
    assert any("longer `quiet`" in line for line in lines)
    assert '<header class="head wait">' in render_report(result)


async def test_the_answer_says_how_many_perturbations_were_not_tried() -> None:
    result = await run(Player(), seconds_max=9.0)
    assert next(render_result(result)) == "No perturbation took place. Not tried for lack of time: 2."


class UnreachedPlayer(Player):
    """Plays runs in which no perturbation takes place."""

    async def play(self, plan: RunPlan, clock: Any) -> RunRecord:
        """Play a run that the perturbation does not reach."""
        one = await super().play(plan, clock)
        one.reached = frozenset()
        return one


async def test_a_legend_has_only_the_colours_that_are_there() -> None:
    picture = render_picture(await run(Player(CRASHES[0]), seconds_max=600.0))
    assert "finding: the controller does not recover" in picture
    assert "not tried for lack of time" not in picture


async def test_a_perturbation_that_did_not_take_place_is_skipped_in_junit() -> None:
    text = render_junit(await run(UnreachedPlayer(), seconds_max=600.0))
    assert text.count('<skipped message="did not take place') == 2
    assert 'skipped="2"' in text
