"""Scopes of quotas are told by name, whatever the values of a selector look like."""

import pytest

from mockkube.api import quota_usage
from mockkube.features.capabilities import Capabilities


@pytest.mark.parametrize(
    ("operator", "values", "name", "expected"),
    [
        pytest.param("In", ["-1Gi"], "low", False, id="a value that no name can be"),
        pytest.param("In", ["-1Gi", "low"], "low", True, id="beside one that is"),
        pytest.param("NotIn", ["-1Gi"], "low", True, id="not among it"),
        pytest.param("NotIn", ["low"], "low", False, id="among them"),
        pytest.param("NotIn", ["low"], "", True, id="nothing is not among them"),
        pytest.param("In", ["low"], "", False, id="nothing is none of them"),
        pytest.param("Exists", None, "low", True, id="there"),
        pytest.param("Exists", None, "", False, id="not there"),
        pytest.param("DoesNotExist", None, "", True, id="wanted to be away"),
        pytest.param("DoesNotExist", None, "low", False, id="there though wanted away"),
        pytest.param("Sideways", ["low"], "low", False, id="an operator there is not"),
    ],
)
def test_a_priority_class_is_within_a_scope(operator, values, name, expected):
    requirement = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [], **({"priorityClassName": name} if name else {})}}
    assert quota_usage.matches_scope(requirement, "", "pods", pod, Capabilities()) is expected
