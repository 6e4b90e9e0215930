"""What kube.wait waits for, as kubectl wait compares it, and how it explains what is missing."""

from typing import Any

import pytest

from mockkube.testing.expectation import parse_expectation

POD = {
    "metadata": {"name": "web", "generation": 2, "finalizers": ["example.dev/hold"], "deletionTimestamp": "2030"},
    "spec": {"hostNetwork": True, "containers": [{"name": "a", "image": "x=y"}, {"name": "b", "image": "z"}]},
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "Slow", "message": "not yet"},
            {"type": "Old", "status": "True", "observedGeneration": 1},
            {"type": "New", "status": "True", "observedGeneration": 2},
        ],
    },
}


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        pytest.param("condition=New", True, id="condition"),
        pytest.param("condition=new", True, id="kubectl ignores the case of conditions"),
        pytest.param("condition=Ready", False, id="a condition that is False"),
        pytest.param("condition=Ready=false", True, id="a condition that shall be False"),
        pytest.param("condition=Old", False, id="a condition about an older generation"),
        pytest.param("condition=Other", False, id="a missing condition"),
        pytest.param("jsonpath={.status.phase}=Running", True, id="value"),
        pytest.param("jsonpath='{.status.phase}'=Running", True, id="a path in quotes"),
        pytest.param("jsonpath=.status.phase=Running", True, id="a path without braces"),
        pytest.param("jsonpath={.status.phase}=Pending", False, id="another value"),
        pytest.param("jsonpath={.status.phase}", True, id="any value"),
        pytest.param("jsonpath={.status.podIP}", False, id="no value"),
        pytest.param("jsonpath={.spec.hostNetwork}=true", True, id="a boolean as JSON writes it"),
        pytest.param('jsonpath={.spec.containers[?(@.name=="a")].image}=x=y', True, id="equal signs everywhere"),
        pytest.param("jsonpath={.spec.containers[*].image}=z", False, id="several values are not one"),
        pytest.param("create", True, id="existence"),
        pytest.param("delete", False, id="deletion of an object that exists"),
        pytest.param(lambda obj: obj["status"]["phase"] == "Running", True, id="function"),
        pytest.param(lambda obj: None, False, id="function that returns nothing"),
    ],
)
def test_states(until: Any, expected: bool) -> None:
    assert parse_expectation(until).holds(POD) is expected


@pytest.mark.parametrize(
    ("until", "explanation"),
    [
        pytest.param("condition=Ready", "Ready is False (Slow: not yet)", id="condition"),
        pytest.param("condition=Other", "it has no condition Other", id="missing condition"),
        pytest.param("jsonpath={.status.phase}=Pending", "the value is Running", id="value"),
        pytest.param("jsonpath={.status.podIP}", "it has no value there", id="no value"),
        pytest.param("delete", "it is being deleted, and has the finalizers ['example.dev/hold']", id="deletion"),
    ],
)
def test_explanations(until: str, explanation: str) -> None:
    assert parse_expectation(until).explain(POD) == explanation


@pytest.mark.parametrize("until", ["Ready", "condition", "jsonpath={.a[}", "delete=now", ""])
def test_a_text_that_is_nothing_to_wait_for_is_an_error(until: str) -> None:
    with pytest.raises(ValueError, match=r"nothing to wait for|jsonpath"):
        parse_expectation(until)
