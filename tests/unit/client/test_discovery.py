"""Discovery tells which version of a kind both sides know, and where it is."""

from typing import Any

import pytest

from mockkube.client.discovery import ServedResource, parse_discovery
from mockkube.client.protocol import Key
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_schema


def resource(kind: str, plural: str, *, namespaced: bool = True, **subresources: tuple[str, str, str]) -> Any:
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "subresources": [
            {"subresource": name, "responseKind": {"group": said[0], "version": said[1], "kind": said[2]}}
            for name, said in subresources.items()
        ],
    }


def document(group: str, **versions: list[Any]) -> Any:
    listed = [{"version": version, "resources": resources} for version, resources in versions.items()]
    return {"items": [{"metadata": {"name": group} if group else {}, "versions": listed}]}


PODS = resource("Pod", "pods", status=("", "v1", "Pod"), eviction=("policy", "v1", "Eviction"))
DOCUMENTS = [
    document("", v1=[PODS, resource("Node", "nodes", namespaced=False), resource("Event", "events")]),
    document("events.k8s.io", v1=[resource("Event", "events")]),
    document("resource.k8s.io", v1=[resource("ResourceClaim", "resourceclaims")], v1beta1=[
        resource("ResourceClaim", "resourceclaims")
    ]),
    document("example.com", v1=[resource("Pod", "podlets"), resource("Widget", "widgets")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "api_version", "plural"),
    [
        ("Pod", "v1", "pods"),
        ("Event", "v1", "events"),
        ("Event.events.k8s.io", "events.k8s.io/v1", "events"),
        ("ResourceClaim", "resource.k8s.io/v1", "resourceclaims"),
        ("Pod.example.com", "example.com/v1", "podlets"),
        ("Widget", "example.com/v1", "widgets"),
    ],
)
def test_a_kind_is_found_by_its_name_or_with_its_group(name: str, api_version: str, plural: str) -> None:
    found = parse_discovery(DOCUMENTS, None)[name]
    assert (found.api_version, found.plural) == (api_version, plural)


def test_an_older_component_speaks_an_older_version() -> None:
    found = parse_discovery(DOCUMENTS, VersionedDecoder(make_schema(Version(1, 33))))
    assert found["ResourceClaim"].api_version == "resource.k8s.io/v1beta1"
    assert found["Widget"].api_version == "example.com/v1"


@pytest.mark.parametrize(
    ("name", "key", "subresource", "path"),
    [
        ("Pod", Key("ns", "p"), "", "/api/v1/namespaces/ns/pods/p"),
        ("Pod", Key("ns", "p"), "status", "/api/v1/namespaces/ns/pods/p/status"),
        ("Pod", Key("ns", ""), "", "/api/v1/namespaces/ns/pods"),
        ("Pod", Key("", ""), "", "/api/v1/pods"),
        ("Node", Key("ns", "a b"), "", "/api/v1/nodes/a%20b"),
        ("Widget", Key("ns", "w"), "", "/apis/example.com/v1/namespaces/ns/widgets/w"),
    ],
)
def test_an_object_has_its_path(name: str, key: Key, subresource: str, path: str) -> None:
    assert parse_discovery(DOCUMENTS, None)[name].path(key, subresource) == path


def test_a_body_says_what_it_is() -> None:
    pods: ServedResource = parse_discovery(DOCUMENTS, None)["Pod"]
    assert pods.with_type_meta({"spec": {}}) == {"spec": {}, "kind": "Pod", "apiVersion": "v1"}
    assert pods.with_type_meta({}, "eviction") == {"kind": "Eviction", "apiVersion": "policy/v1"}
