"""Logs of components, as scenarios see them: one line per pod and node for values that cannot be read."""

from pathlib import Path

import pytest

from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.run_pool import list_runs, play_one
from mockkube.scenario.runner.scenario_runner import RunOptions

_HEAD = """
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: logs}
spec:
  cluster: {featureGates: {TaintTolerationComparisonOperators: true}}
  steps:
    - apply:
        - apiVersion: v1
          kind: Node
          metadata: {name: word-1}
          spec: {taints: [{key: sla, value: high, effect: NoSchedule}]}
        - apiVersion: v1
          kind: Node
          metadata: {name: word-2}
          spec: {taints: [{key: sla, value: high, effect: NoSchedule}]}
        - apiVersion: v1
          kind: Node
          metadata: {name: number}
          spec: {taints: [{key: sla, value: "100", effect: NoSchedule}]}
    - create:
        - &numeric
          apiVersion: v1
          kind: Pod
          metadata: {name: first}
          spec:
            tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
            containers: [{name: app, image: app}]
        - {<<: *numeric, metadata: {name: second}}
"""
_LINE = "{component: kube-scheduler, message: failed to parse taint value as int64"


def _outcome(*steps: str) -> tuple[RunOutcome, str]:
    text = _HEAD + "".join(f"    - {step}\n" for step in steps)
    [run] = list_runs(parse(text, Path("logs.yaml")))
    result = play_one(run, RunOptions())
    return result.outcome, result.message


def _counts(condition: str) -> tuple[RunOutcome, str]:
    return _outcome(f"expectLog: {_LINE}, {condition}}}")


def test_a_line_counts_once_for_each_pod_and_node() -> None:
    assert _counts("count: 4, level: error") == (RunOutcome.PASSED, "")


def test_each_attempt_logs_again_although_verdicts_are_kept() -> None:
    assert _outcome("advance: 4m", f"expectLog: {_LINE}, count: 4}}") == (RunOutcome.PASSED, "")
    assert _outcome("advance: 6m", f"expectLog: {_LINE}, count: 8}}") == (RunOutcome.PASSED, "")


def test_a_node_that_can_be_read_again_is_not_logged_any_more() -> None:
    free = "kubectl: taint node word-1 sla-"
    line = """expectLog: {component: kube-scheduler, matches: 'int64.*pod="default/'"""
    assert _outcome("advance: 1m", free, f"{line}, count: 6}}", "advance: 10m", f"{line}, count: 6}}") == (
        RunOutcome.PASSED,
        "",
    )


def test_a_queueing_hint_logs_too_without_a_pod() -> None:
    free = "kubectl: taint node word-1 sla-"
    line = """expectLog: {component: kube-scheduler, matches: 'int64.*taint="high"$'"""
    assert _outcome("advance: 1m", f"{line}, absent: true}}", free, f"{line}, count: 2}}") == (RunOutcome.PASSED, "")


def test_a_window_leaves_out_what_was_logged_before() -> None:
    assert _outcome("advance: 1m", f"expectLog: {_LINE}, window: 30s, absent: true}}") == (RunOutcome.PASSED, "")


def test_a_line_of_a_higher_verbosity_is_not_written() -> None:
    line = "expectLog: {component: kube-scheduler, message: Unable to schedule pod"
    assert _outcome(f"{line}, absent: true}}") == (RunOutcome.PASSED, "")
    assert _outcome(f"{line}, verbosity: 2, count: 2}}") == (RunOutcome.PASSED, "")


def test_a_regular_expression_is_searched_in_the_line() -> None:
    line = 'expectLog: {component: kube-scheduler, matches: \'taint="high" pod="default/(first|third)"\''
    assert _outcome(f"{line}, count: 2}}") == (RunOutcome.PASSED, "")


def test_a_restarted_component_keeps_its_log() -> None:
    assert _outcome("restart: kube-scheduler", f"expectLog: {_LINE}, min: 8}}") == (RunOutcome.PASSED, "")


def test_a_failure_shows_what_was_logged_instead() -> None:
    outcome, message = _outcome("expectLog: {component: kube-scheduler, message: semantic version}")
    assert outcome is RunOutcome.FAILED
    assert '2 times error: "failed to parse taint value as int64"' in message


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        pytest.param("{component: kubelet}", "give a part of the line", id="no line"),
        pytest.param("{component: kubelet, matches: '('}", "not a regular expression", id="no expression"),
        pytest.param("{component: kubelet, message: a, count: 1, min: 1}", "give `absent`", id="two counts"),
        pytest.param(
            "{component: kubelet, message: a, absent: true, max: 0}", "give `absent`", id="absent and a count"
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(step: str, complaint: str) -> None:
    with pytest.raises(Exception, match=complaint):
        _outcome(f"expectLog: {step}")


@pytest.mark.parametrize(
    ("component", "other"),
    [
        pytest.param("kubelet", "kube-controller-manager", id="kubelet"),
        pytest.param("kube-controller-manager", "kubelet", id="controller manager"),
    ],
)
def test_other_components_log_what_they_cannot_read(component: str, other: str) -> None:
    alone = f"component: {{name: {other}, running: false}}"
    taint = "taint: number sla=high:NoExecute"
    bound = (
        "create: {apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: number, "
        'tolerations: [{key: sla, operator: Gt, value: "1", effect: NoExecute}], '
        "containers: [{name: app, image: app}]}}"
    )
    line = f"expectLog: {{component: {component}, message: failed to parse taint value as int64, min: 1}}"
    assert _outcome(alone, taint, bound, line) == (RunOutcome.PASSED, "")
