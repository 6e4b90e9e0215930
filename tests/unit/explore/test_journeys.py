"""What a journey remembers, explains and proves, on plans too small to explore."""

from mockkube.explore.counterexample_checks import make_checks
from mockkube.explore.counterexample_scenario import render_counterexample
from mockkube.explore.exploration import Counterexample
from mockkube.explore.path_runner import FINAL_STATE, PathRunner, replay_path
from mockkube.explore.plans import invariants
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.orders import ChangeMove, Moves, RetryMove, RolloutPath
from mockkube.explore.plans.plan import Direction, RolloutPlan
from mockkube.scenario.runner.loading import parse as parse_scenarios
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play

HEAD = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: small}
spec:
"""
GATE = "TaintTolerationComparisonOperators"
WAITING = (
    HEAD
    + f"""\
  change:
    kube-scheduler: {{gates: {{{GATE}: true}}}}
  nodes:
    - labels: {{disk: slow}}
    - taints: [{{key: broken, effect: NoSchedule}}]
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {{name: picky}}
      spec:
        nodeSelector: {{disk: fast}}
        containers: [{{name: main, image: i}}]
    - apiVersion: v1
      kind: Pod
      metadata: {{name: large}}
      spec:
        containers: [{{name: main, image: i, resources: {{requests: {{cpu: "500"}}}}}}]
    - apiVersion: v1
      kind: Pod
      metadata: {{name: spread, labels: {{app: s}}}}
      spec:
        containers: [{{name: main, image: i}}]
        topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: nowhere
            whenUnsatisfiable: DoNotSchedule
            labelSelector: {{matchLabels: {{app: s}}}}
    - apiVersion: v1
      kind: Pod
      metadata: {{name: lodger}}
      spec:
        nodeName: node-1
        nodeSelector: {{disk: fast}}
        containers: [{{name: main, image: i}}]
  seconds: 5
"""
)
LOSING = (
    HEAD
    + """\
  change:
    kube-apiserver:
      version: "1.34"
      from: {gates: {TaintTolerationCEL: true}}
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {name: careful}
      spec:
        containers: [{name: main, image: i}]
        tolerations: [{expression: "taint.key == 'sla'"}]
  setup:
    - create:
        apiVersion: v1
        kind: Pod
        metadata: {name: careful}
        spec:
          containers: [{name: main, image: i}]
          tolerations: [{expression: "taint.key == 'sla'"}]
  disturbances:
    - name: somebody writes its status
      do: [{patch: {ref: Pod/careful, subresource: status, patch: {status: {message: seen}}}}]
  invariants:
    - fields-kept
    - name: nobody-says-anything
      object: {apiVersion: v1, kind: Pod, metadata: {name: careful}, status: {message: ""}}
  seconds: 5
"""
)
UP: Moves = (ChangeMove(Direction.UP, "kube-scheduler"),)


async def retold(plan: RolloutPlan, moves: Moves, invariant: str) -> tuple[RunResult, str]:
    """Play the scenario of a counterexample; return how it ended, and the text of what broke."""
    journey = await replay_path(plan, moves)
    broken = next(one for one in journey.records[-1].result.breaks if one.invariant == invariant)
    example = Counterexample(invariant, broken.text, moves, RolloutPath((), (), moves))
    [scenario] = parse_scenarios(render_counterexample(plan, example, journey))
    assert scenario.claims[0].outcome == "false"
    return await play(ScenarioRun(scenario)), broken.text


async def test_each_pod_that_waits_or_is_rejected_is_explained_by_what_stops_it() -> None:
    journey = await replay_path(parse(WAITING), UP)
    told = {one.workload: (one.harm, one.describe()) for one in journey.records[-1].explanations}
    assert {name: harm for name, (harm, _) in told.items()} == {
        "pod/picky": "stuck",
        "pod/large": "stuck",
        "pod/spread": "stuck",
        "pod/lodger": "rejected",
    }
    assert "disk" in told["pod/picky"][1]
    assert "cpu" in told["pod/large"][1]
    assert "missing required label" in told["pod/spread"][1]
    assert "kubelet" in told["pod/lodger"][1]


async def test_what_is_lost_in_the_store_is_shown_by_the_scenario_that_tells_of_it() -> None:
    moves = (ChangeMove(Direction.UP, "kube-apiserver"),)
    result, text = await retold(parse(LOSING), moves, invariants.FIELDS_KEPT)
    assert "spec.tolerations" in text
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_what_a_plan_demands_itself_is_shown_to_be_otherwise() -> None:
    moves = (ChangeMove(Direction.UP, "kube-apiserver"),)
    result, _ = await retold(parse(LOSING), moves, "nobody-says-anything")
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_a_proof_does_not_hold_where_nothing_was_lost() -> None:
    plan = parse(LOSING)
    journey = await replay_path(plan, (ChangeMove(Direction.UP, "kube-apiserver"),))
    shown = {one.invariant: make_checks(plan, one, journey) for one in journey.records[-1].result.breaks}
    assert all(each.at_end for each in shown.values())
    kept = parse(LOSING.replace('version: "1.34"', 'version: "1.37"\n      gates: {TaintTolerationCEL: true}'))
    other = await replay_path(kept, (ChangeMove(Direction.UP, "kube-apiserver"),))
    assert invariants.FIELDS_KEPT not in {one.invariant for one in other.records[-1].result.breaks}


async def test_a_state_is_known_by_who_waits_and_for_what() -> None:
    """The same pods are stored before and after the scheduler has refused one of them once more."""
    async with PathRunner(parse(WAITING)) as journey:
        await journey.make_move(UP[0])
        before = journey.state()
        assert journey.state() == before
        scheduler = journey.cluster.get_component("kube-scheduler")
        uid = journey.stored.list_objects("core/pods")["default/picky"]["metadata"]["uid"]
        scheduler.queue.get(uid).unschedulable_count += 1
        assert journey.state() != before


async def test_no_move_follows_a_retry_so_the_state_after_it_tells_nothing_apart() -> None:
    async with PathRunner(parse(WAITING)) as journey:
        result = await journey.make_move(RetryMove())
    assert result.state == FINAL_STATE
