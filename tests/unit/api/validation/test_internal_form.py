"""The form Go prints objects in."""

import json

import pytest

from mockkube.api.fields import to_go_json
from mockkube.api.validation.internal_form import diff_internal_forms, order_metadata, order_owner, to_internal_form


@pytest.mark.parametrize(
    ("go_type", "value", "form"),
    [
        pytest.param(
            "Toleration",
            {"key": "a"},
            {"Key": "a", "Operator": "", "Value": "", "Effect": "", "TolerationSeconds": None},
            id="zero values",
        ),
        pytest.param("*Toleration", None, None, id="nil pointer"),
        pytest.param("[]PodIP", [{"ip": "a"}], [{"IP": "a"}], id="list"),
        pytest.param("[]PodIP", [], None, id="empty list"),
        pytest.param("map", {"b": "1", "a": "2"}, {"a": "2", "b": "1"}, id="sorted map"),
        pytest.param("map", {}, None, id="empty map"),
        pytest.param(
            "*metav1.LabelSelector",
            {"matchExpressions": [{"operator": "Exists", "key": "a"}], "matchLabels": {"c": "1", "b": "2"}},
            {"matchLabels": {"b": "2", "c": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
            id="selector, in Go's order",
        ),
    ],
)
def test_values_have_every_field_of_their_type(go_type, value, form):
    assert to_internal_form(go_type, value) == form
    assert json.dumps(to_internal_form(go_type, value)) == json.dumps(form)


def test_what_a_pod_shares_with_its_host_is_in_its_security_context():
    context = to_internal_form("PodSpec", {"hostNetwork": True, "securityContext": {"runAsUser": 1}})["SecurityContext"]
    assert (context["HostNetwork"], context["HostPID"], context["RunAsUser"]) == (True, False, 1)


def test_a_diff_shows_three_lines_around_a_change():
    assert diff_internal_forms("Toleration", {"key": "a"}, {"key": "b"}) == (
        '@@ -1,5 +1,5 @@\n {\n- "Key": "a",\n+ "Key": "b",\n  "Operator": "",\n  "Value": "",\n  "Effect": "",\n'
    )


def test_metadata_of_a_template_is_inlined():
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    assert list(to_internal_form("PersistentVolumeClaimTemplate", template)) == ["labels", "Spec"]


def test_metadata_is_written_in_the_order_of_go_and_maps_by_their_keys():
    owner = {"controller": True, "uid": "u", "kind": "K", "name": "n", "apiVersion": "v1"}
    metadata = {
        "annotations": {"b": "1", "a": "2"},
        "ownerReferences": [owner],
        "labels": {"y": "1", "x": "2"},
        "uid": "i",
    }
    assert to_go_json(order_metadata(metadata)) == (
        '{"uid":"i","labels":{"x":"2","y":"1"},"annotations":{"a":"2","b":"1"},'
        '"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true}]}'
    )


def test_an_owner_is_written_with_all_that_identifies_it():
    assert list(order_owner({"controller": True, "name": "n"}).items()) == [
        ("apiVersion", ""),
        ("kind", ""),
        ("name", "n"),
        ("uid", ""),
        ("controller", True),
    ]
