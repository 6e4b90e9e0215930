"""Convert the APIResourceList of another server into aggregated discovery."""

# upstream 1.36: apiserver/pkg/endpoints/installer.go, ConvertGroupVersionIntoToDiscovery
from collections.abc import Iterable
from typing import Any

from mockkube.api.json_objects import Object, ReadOnlyObject


def to_version_discovery(version: str, resources: Iterable[ReadOnlyObject] | None) -> Object:
    """Return the APIVersionDiscovery of a version with these resources; stale without any."""
    if resources is None:
        return {"version": version, "freshness": "Stale"}
    discovered: dict[str, Object] = {}
    subresources: list[ReadOnlyObject] = []
    for one in resources:
        if "/" in one["name"]:
            subresources.append(one)
        else:
            discovered[one["name"]] = _to_resource_discovery(one)
    # Handled after all resources: a list may name a subresource before its resource.
    for one in subresources:
        name, _, sub = one["name"].partition("/")
        parent = discovered.get(name)
        if parent is None:
            scope = "Namespaced" if one.get("namespaced") else "Cluster"
            parent = discovered[name] = {"resource": name, "responseKind": _response_kind({}), "scope": scope}
        parent.setdefault("subresources", []).append(_to_subresource_discovery(sub, one))
    return {"version": version, "resources": list(discovered.values()), "freshness": "Current"}


def parse_resource_list(document: Any) -> list[Object] | None:
    """Return the resources of an APIResourceList; None if the document is no such list."""
    resources = document.get("resources") if isinstance(document, dict) else None
    if not isinstance(resources, list):
        return None
    return [one for one in resources if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _to_resource_discovery(one: ReadOnlyObject) -> Object:
    discovered: Object = {
        "resource": one["name"],
        "responseKind": _response_kind(one),
        "scope": "Namespaced" if one.get("namespaced") else "Cluster",
        "singularResource": one.get("singularName", ""),
        "verbs": list(one.get("verbs") or ()),
    }
    return discovered | {name: list(one[name]) for name in ("shortNames", "categories") if one.get(name)}


def _to_subresource_discovery(name: str, one: ReadOnlyObject) -> Object:
    return {"subresource": name, "responseKind": _response_kind(one), "verbs": list(one.get("verbs") or ())}


def _response_kind(one: ReadOnlyObject) -> Object:
    return {name: one.get(name, "") for name in ("group", "version", "kind")}
