"""What another server says of one of its versions, in the form in which all versions are told of at once."""

# upstream 1.36: apiserver/pkg/endpoints/installer.go, ConvertGroupVersionIntoToDiscovery
from collections.abc import Iterable
from typing import Any

from mockkube.api.types import Object, ReadOnlyObject


def version_of(version: str, resources: Iterable[ReadOnlyObject] | None) -> Object:
    """Return a version with the resources of an APIResourceList; without one as what was once there."""
    if resources is None:
        return {"version": version, "freshness": "Stale"}
    told: dict[str, Object] = {}
    below: list[ReadOnlyObject] = []
    for one in resources:
        if "/" in one["name"]:
            below.append(one)
        else:
            told[one["name"]] = _resource(one)
    for one in below:
        name, _, sub = one["name"].partition("/")
        if name in told:
            told[name].setdefault("subresources", []).append(_subresource(sub, one))
    return {"version": version, "resources": list(told.values()), "freshness": "Current"}


def readable(document: Any) -> list[Object] | None:
    """Return the resources of an APIResourceList; None if the document is none."""
    resources = document.get("resources") if isinstance(document, dict) else None
    if not isinstance(resources, list):
        return None
    return [one for one in resources if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _resource(one: ReadOnlyObject) -> Object:
    told: Object = {
        "resource": one["name"],
        "responseKind": _kind(one),
        "scope": "Namespaced" if one.get("namespaced") else "Cluster",
        "singularResource": one.get("singularName", ""),
        "verbs": list(one.get("verbs") or ()),
    }
    return told | {name: list(one[name]) for name in ("shortNames", "categories") if one.get(name)}


def _subresource(name: str, one: ReadOnlyObject) -> Object:
    return {"subresource": name, "responseKind": _kind(one), "verbs": list(one.get("verbs") or ())}


def _kind(one: ReadOnlyObject) -> Object:
    return {name: one.get(name, "") for name in ("group", "version", "kind")}
