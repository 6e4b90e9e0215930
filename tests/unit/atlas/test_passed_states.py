"""Orders that pass through a state in which new objects do not work."""

import pytest

from mockkube.atlas.gate_entry import FlipVerdict, GateOrderResult, HalfWayState
from mockkube.atlas.passed_states import judge_passed_states
from mockkube.explore.plans.plan import Direction

API, KUBELET = "kube-apiserver", "kubelet"


def judge(order: tuple[str, ...], direction: Direction, *lines: str) -> GateOrderResult:
    states = [
        HalfWayState((), "off", ("Pod web: missing",)),
        HalfWayState((API,), "", lines),
        HalfWayState((KUBELET,), "off", ("Pod web: missing",)),
        HalfWayState((API, KUBELET), "on"),
    ]
    [result] = judge_passed_states([GateOrderResult(order, FlipVerdict.SAFE)], states, direction)
    return result


@pytest.mark.parametrize(
    ("order", "direction"),
    [
        pytest.param((API, KUBELET), Direction.UP, id="on for the API server first"),
        pytest.param((KUBELET, API), Direction.DOWN, id="on for the API server still"),
    ],
)
def test_what_the_api_server_accepts_must_work(order: tuple[str, ...], direction: Direction) -> None:
    result = judge(order, direction, "Pod web: Pending instead of Running")
    assert result.verdict is FlipVerdict.DIFFERS
    assert result.differences == ("meanwhile, Pod web: Pending instead of Running",)


@pytest.mark.parametrize(
    ("order", "direction"),
    [((KUBELET, API), Direction.UP), ((API, KUBELET), Direction.DOWN)],
)
def test_without_the_api_server_nobody_uses_the_feature(order: tuple[str, ...], direction: Direction) -> None:
    assert judge(order, direction, "Pod web: Pending instead of Running").verdict is FlipVerdict.SAFE


def test_reports_of_nodes_and_other_moments_affect_nobody() -> None:
    result = judge((API, KUBELET), Direction.UP, "Node node-1: `status` is `1`", "the same end, but another way: `a`")
    assert result.verdict is FlipVerdict.SAFE
