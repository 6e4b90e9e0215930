"""Conditions are set in their place, and tell since when they are what they are."""

import pytest

from mockkube.api.conditions import calculate_observed_generation, find_condition, make_condition, with_condition
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT

THEN, NOW = "2030-01-01T00:00:00Z", "2030-01-01T00:05:00Z"
READY = {**make_condition("Ready", holds=True, reason="Up", message="is up"), "lastTransitionTime": THEN}
OTHER = {"type": "Other", "status": "False", "lastTransitionTime": THEN}
TRACKING = Capabilities(DEFAULT, frozenset({"PodObservedGenerationTracking"}))


@pytest.mark.parametrize(
    ("holds", "moment"),
    [
        pytest.param(True, THEN, id="the same status keeps its time"),
        pytest.param(False, NOW, id="another status is of now"),
    ],
)
def test_a_condition_is_set_where_it_is(holds: bool, moment: str) -> None:
    wanted = make_condition("Ready", holds=holds, reason="New", message="")
    assert with_condition([READY, OTHER], wanted, NOW) == [{**wanted, "lastTransitionTime": moment}, OTHER]


def test_a_new_one_comes_last() -> None:
    assert with_condition([OTHER], READY, NOW) == [OTHER, {**READY, "lastTransitionTime": NOW}]


def test_one_is_found_by_its_type() -> None:
    assert find_condition([OTHER, READY], "Ready") is READY
    assert find_condition([OTHER], "Ready") is None


@pytest.mark.parametrize(
    ("caps", "old", "generation"),
    [
        pytest.param(TRACKING, None, 7, id="with the gate"),
        pytest.param(Capabilities(DEFAULT), OTHER, 0, id="without"),
        pytest.param(Capabilities(DEFAULT), {**OTHER, "observedGeneration": 3}, 7, id="where it was told before"),
    ],
)
def test_a_condition_of_a_pod_tells_its_generation(caps: Capabilities, old: dict[str, object], generation: int) -> None:
    assert calculate_observed_generation({"metadata": {"generation": 7}}, old, caps) == generation
