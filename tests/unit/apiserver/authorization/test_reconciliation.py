import pytest

from mockkube.apiserver.authorization import reconciliation

READS_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
METADATA = {"name": "x", "labels": {"boot": "yes"}, "annotations": {reconciliation.AUTO_UPDATE_ANNOTATION: "true"}}
JANE, JOE = {"kind": "User", "name": "jane"}, {"kind": "User", "name": "joe"}


def role(*rules, **rest):
    return {"metadata": METADATA, "rules": list(rules), **rest}


def binding(*subjects, name="r"):
    return {"metadata": METADATA, "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": list(subjects)}


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(role(READS_PODS), id="a role"),
        pytest.param(binding(JANE), id="a binding"),
        pytest.param(role({**READS_PODS, "verbs": ["*"]}), id="a role with more rights"),
    ],
)
def test_what_lacks_nothing_stays_as_it_is(obj):
    expected = binding(JANE) if "roleRef" in obj else role(READS_PODS)
    assert reconciliation.reconcile(obj, expected) == obj


def test_a_role_gets_what_it_lacks_after_what_it_has():
    lists = {**READS_PODS, "verbs": ["list"]}
    own = {**READS_PODS, "resources": ["nodes"]}
    gets = {**READS_PODS, "verbs": ["get"]}
    assert reconciliation.reconcile(role(lists, own), role(READS_PODS))["rules"] == [lists, own, gets]


def test_a_binding_gets_the_subjects_it_lacks():
    assert reconciliation.reconcile(binding(JOE), binding(JANE))["subjects"] == [JOE, JANE]


def test_labels_and_annotations_are_added_and_none_is_changed():
    stored = {**role(READS_PODS), "metadata": {"name": "x", "labels": {"boot": "no", "own": "a"}}}
    metadata = reconciliation.reconcile(stored, role(READS_PODS))["metadata"]
    assert metadata["labels"] == {"boot": "no", "own": "a"}
    assert metadata["annotations"] == METADATA["annotations"]


def test_a_role_gathers_what_it_should_besides_what_it_does():
    one, two = {"matchLabels": {"a": "1"}}, {"matchLabels": {"a": "2"}}
    stored, expected = ({"clusterRoleSelectors": [selector]} for selector in (one, two))
    whole = reconciliation.reconcile(role(aggregationRule=stored), role(aggregationRule=expected))
    assert whole["aggregationRule"] == {"clusterRoleSelectors": [one, two]}
    assert "aggregationRule" not in reconciliation.reconcile(role(aggregationRule=stored), role())


def test_a_binding_to_another_role_is_told():
    assert reconciliation.has_other_role(binding(name="a"), binding(name="b"))
    assert not reconciliation.has_other_role(binding(), binding())


def test_an_administrator_may_keep_an_object_as_it_is():
    own = {"metadata": {"name": "x", "annotations": {reconciliation.AUTO_UPDATE_ANNOTATION: "false"}}}
    assert reconciliation.is_protected(own)
    assert not reconciliation.is_protected(role())
