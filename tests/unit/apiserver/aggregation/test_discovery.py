import pytest

from mockkube.apiserver.aggregation.discovery import parse_resource_list, to_version_discovery

POD = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"], "shortNames": ["po"]}
LOG = {"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]}
KIND = {"group": "", "version": "", "kind": "Pod"}


def test_resources_have_theirs_below_them():
    assert to_version_discovery("v1", [POD, LOG]) == {
        "version": "v1",
        "resources": [
            {
                "resource": "pods",
                "responseKind": KIND,
                "scope": "Namespaced",
                "singularResource": "pod",
                "verbs": ["get"],
                "shortNames": ["po"],
                "subresources": [{"subresource": "log", "responseKind": KIND, "verbs": ["get"]}],
            }
        ],
        "freshness": "Current",
    }


def test_what_is_not_known_is_stale():
    assert to_version_discovery("v1", None) == {"version": "v1", "freshness": "Stale"}


@pytest.mark.parametrize("document", [None, [], {}, {"resources": "pods"}])
def test_what_is_no_list_of_resources_is_none(document):
    assert parse_resource_list(document) is None
