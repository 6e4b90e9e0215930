import pytest

from mockkube.api.kinds.core.resource_names import (
    is_standard_quota_resource,
    validate_container_resource_name,
    validate_quota_resource_name,
)


@pytest.mark.parametrize(
    ("name", "known"),
    [("pods", True), ("storage", False), ("requests.storage", True), ("hugepages-2Mi", True), ("x", False)],
)
def test_a_quota_knows_its_names(name, known):
    assert is_standard_quota_resource(name) is known
    assert (validate_quota_resource_name(name, "at") == []) is known


@pytest.mark.parametrize(("name", "known"), [("cpu", True), ("pods", False), ("a.b/c", True), ("requests.a/b", False)])
def test_a_container_has_only_some(name, known):
    assert (validate_container_resource_name(name, "at") == []) is known
