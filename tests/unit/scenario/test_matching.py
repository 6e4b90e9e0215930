"""Partial objects against whole ones."""

from typing import Any

import pytest

from mockkube.scenario.matching import find_differences

POD = {
    "metadata": {"name": "p", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}], "hostNetwork": False},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "restarts": 1},
}


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({}, id="nothing is claimed"),
        pytest.param({"status": {"phase": "Running"}}, id="a member"),
        pytest.param({"spec": {"hostNetwork": False}}, id="a member that is false"),
        pytest.param({"spec": {"nodeName": None}}, id="a member that is not there"),
        pytest.param({"spec": {"containers": [{"name": "a"}, {}]}}, id="lists element by element"),
        pytest.param({"status": {"(conditions[?type=='Ready'].status)": ["True"]}}, id="an expression as key"),
        pytest.param({"status": {"(restarts < `3`)": True}}, id="a comparison"),
        pytest.param({"status": {"phase": "(join('', ['Run', 'ning']))"}}, id="an expression as value"),
        pytest.param({"spec": {"~.(containers)": {"(length(name))": 1}}}, id="each element"),
        pytest.param({"metadata": {"labels": {"app": "($app)"}}}, id="a name that is bound"),
        pytest.param({"(length(spec.containers))": 2}, id="an expression about the whole"),
        pytest.param({"(spec.containers)->all": {"(length($all))": 2}}, id="a name bound on the way"),
    ],
)
def test_matches(expected: Any) -> None:
    assert find_differences(expected, POD, {"app": "web"}) == []


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        pytest.param({"status": {"phase": "Failed"}}, "status.phase: expected 'Failed', found 'Running'", id="a value"),
        pytest.param({"spec": {"nodeName": "n"}}, "spec.nodeName: expected 'n', found nothing", id="a missing member"),
        pytest.param({"spec": {"hostNetwork": 0}}, "spec.hostNetwork: expected 0, found False", id="zero is not false"),
        pytest.param({"status": {"restarts": True}}, "status.restarts: expected True, found 1", id="true is not one"),
        pytest.param({"spec": {"containers": [{"name": "a"}]}}, "expected 1 elements, found 2", id="a shorter list"),
        pytest.param(
            {"spec": {"~.(containers)": {"image": "i"}}}, "[1].image: expected 'i', found 'j'", id="an element"
        ),
        pytest.param({"status": {"phase": {"x": 1}}}, "status.phase: expected {'x': 1}, found 'Running'", id="no map"),
    ],
)
def test_tells_where_it_differs(expected: Any, told: str) -> None:
    [found] = find_differences(expected, POD, {})
    assert told in str(found)
