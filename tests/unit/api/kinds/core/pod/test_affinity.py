"""Affinity to nodes and to other pods."""

from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED, validate_affinity, validate_match_label_keys
from mockkube.api.validation.node_selector import NodeSelectorOptions

SELECTOR = {"matchLabels": {"app": "a"}}


def judge(affinity, allow_invalid_values=False):
    errors = validate_affinity(affinity, "a", NodeSelectorOptions(), allow_invalid_values=allow_invalid_values)
    return [f"{error.field}: {error.message.partition(' (e.g.')[0]}" for error in errors]


def pods(term, kind="podAffinity"):
    return {kind: {REQUIRED: [{"topologyKey": "zone", "labelSelector": SELECTOR, **term}]}}


def test_a_term_about_pods_names_a_topology():
    at = f"a.podAntiAffinity.{REQUIRED}[0].topologyKey"
    assert judge(pods({"topologyKey": ""}, "podAntiAffinity"))[:2] == [
        f"{at}: Required value: can not be empty",
        f'{at}: Invalid value: "": name part must be non-empty',
    ]


def test_weights_lie_between_1_and_100():
    affinity = {
        "nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]},
        "podAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]},
    }
    assert judge(affinity) == [
        f"a.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100",
        f"a.podAffinity.{PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100",
    ]


def test_namespaces_are_labels():
    (error,) = judge(pods({"namespaces": ["a.b"]}))
    assert error == f'a.podAffinity.{REQUIRED}[0].namespace: Invalid value: "a.b": must not contain dots'


def test_bad_values_in_selectors_of_pods_are_kept_where_they_were_stored():
    bad = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}
    assert judge(pods(bad))
    assert judge(pods(bad), allow_invalid_values=True) == []


def test_label_keys_need_a_selector_to_be_merged_into():
    errors = validate_match_label_keys({"matchLabelKeys": ["a"]}, "t")
    assert [str(error) for error in errors] == [
        "t.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"
    ]


def test_a_label_key_is_asked_for_in_one_way():
    selector = {"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}
    term = {"matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"], "labelSelector": selector}
    assert [str(error) for error in validate_match_label_keys(term, "t")] == [
        't[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
        't.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys',
    ]


def test_the_requirement_a_key_was_merged_as_may_stand_once():
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}
    assert validate_match_label_keys({"matchLabelKeys": ["a"], "labelSelector": selector}, "t") == []
