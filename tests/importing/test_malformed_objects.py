"""A malformed object in a dump is left out with a reason, or imported; the others come in, whatever it is."""

import copy
from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final

import pytest

from mockkube.api.json_objects import Object
from mockkube.importing.cluster_import import import_objects
from tests.importing import realistic

SOUND: Final = realistic.make_namespace("default")
CRD: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
    },
}
WEBHOOKS: Final[Object] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "policy"},
    "webhooks": [{"name": "a.example.com", "clientConfig": {"url": "https://a.example.com"}, "matchConditions": []}],
}
SECRET: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "default", "annotations": {"a": "b"}},
    "data": {"a": "YQ=="},
}
KUBELET_CONFIG: Final[Object] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "kubelet-config", "namespace": "kube-system"},
    "data": {"kubelet": "featureGates: {A: true}"},
}
API_SERVER: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "kube-apiserver",
        "namespace": "kube-system",
        "labels": {"component": "kube-apiserver", "tier": "control-plane"},
    },
    "spec": {"containers": [{"name": "s", "image": "s:v1.36.1", "command": ["s", "--feature-gates=A=true"]}]},
    "status": {"conditions": [{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
}
LEASE: Final[Object] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "w1", "namespace": "kube-node-lease"},
    "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"},
}
OBJECTS: Final = [
    realistic.make_node("w1"),
    *realistic.make_deployment("web", "default", 1, ("w1",)),
    CRD,
    WEBHOOKS,
    SECRET,
    KUBELET_CONFIG,
    API_SERVER,
    LEASE,
]
WRONG: Final = (None, [1], {"a": 1}, "x", 5, True, [], {}, [None], [{}], "")


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from list_paths(part, (*path, key))


def replace(obj: Object, path: tuple[Any, ...], value: object) -> Object:
    """Return a copy of an object with another value at the path."""
    changed = copy.deepcopy(obj)
    here: Any = changed
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return changed


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: f"{obj['kind']} {obj['metadata']['name']}")
def test_no_value_of_a_wrong_type_stops_an_import(obj: Object) -> None:
    for path, wrong in zip(list_paths(obj), cycle(WRONG), strict=False):
        report = import_objects([*copy.deepcopy(SOUND), replace(obj, path, wrong)]).report
        accounted = report.total - len(report.added_namespaces) + report.left_out.total()
        # What has no name is no object of a dump.
        has_name = path not in (("metadata",), ("metadata", "name"))
        assert accounted == len(SOUND) + 1 or not has_name, (path, wrong)
        assert report.objects["Namespace"] >= 1


@pytest.mark.parametrize(
    ("path", "wrong", "reason"),
    [
        (("metadata", "labels"), {"a": 1}, "token: metadata.labels must be a map of texts"),
        (("metadata", "ownerReferences"), [{}], "token: metadata.ownerReferences must be a list of owners"),
        (("kind",), 5, "token: kind must be a text"),
        (("data",), [1], "token: json: cannot unmarshal array into Go struct field Secret.data"),
    ],
)
def test_the_report_names_what_is_wrong(path: tuple[str, ...], wrong: object, reason: str) -> None:
    report = import_objects([*copy.deepcopy(SOUND), replace(SECRET, path, wrong)]).report
    assert [why for _, why in report.left_out if why.startswith(reason)]
