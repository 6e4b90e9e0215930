"""Discovery documents: APIGroupList, APIResourceList, and aggregated discovery."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from mockkube.api.catalogue import STATUS, KindInfo, Subresource
from mockkube.api.custom.crd_kind import CrdKind
from mockkube.api.custom.version_order import sort_by_preference
from mockkube.api.json_objects import Object
from mockkube.apiserver.aggregation.discovery import to_version_discovery
from mockkube.apiserver.http.responses.negotiation import parse_accept
from mockkube.apiserver.post_start_hooks.api_service_priorities import CRD_PRIORITY, get_group_priority, get_priority
from mockkube.apiserver.registry.registry import Registry

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_FIRST_GROUP: Final = "apiregistration.k8s.io"


def wants_aggregated(accept: str) -> bool:
    """Return whether the client accepts aggregated discovery."""
    for clause in parse_accept(accept):
        if clause.get_parameter("as") == "APIGroupDiscoveryList":
            return clause.get_parameter("v") == "v2" and clause.get_parameter("g") == "apidiscovery.k8s.io"
    return False


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Return the hash of a storage version; clients compare it to notice a change."""
    # upstream 1.36: apiserver/pkg/endpoints/discovery/storageversionhash.go
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


class Discovery:
    """Discovery documents of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._edition = -1
        self._groups: dict[str, dict[str, list[KindInfo]]] = {}

    @property
    def groups(self) -> dict[str, dict[str, list[KindInfo]]]:
        """Kinds by group and version, in upstream's order."""
        # Rebuilt only when kinds come or go: clients ask for discovery far more often.
        if self._edition != self._registry.generation:
            self._edition, self._groups = self._registry.generation, self._collect_groups()
        return self._groups

    def _collect_groups(self) -> dict[str, dict[str, list[KindInfo]]]:
        found: dict[str, dict[str, list[KindInfo]]] = {}
        for kind, versions in self._registry.served_kinds():
            for version in versions:
                found.setdefault(kind.group, {}).setdefault(version, []).append(kind)
            if isinstance(kind, CrdKind):
                group = found[kind.group]
                found[kind.group] = {version: group[version] for version in sort_by_preference(group)}
        for name, version in self._registry.aggregated_apis:
            found.setdefault(name, {}).setdefault(version, [])
        return {name: self._sort_versions(name, found[name]) for name in sorted(found, key=self._group_sort_key)}

    def _group_sort_key(self, group: str) -> tuple[bool, int, str]:
        """Return the sort key of a group: apiregistration.k8s.io first, then by priority and name."""
        # upstream 1.36: kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go
        priorities = [
            one.spec["groupPriorityMinimum"]
            for (name, _), one in self._registry.aggregated_apis.items()
            if name == group
        ]
        return group != _FIRST_GROUP, -max(priorities, default=0) or -get_group_priority(group), group

    def _sort_versions(self, group: str, versions: dict[str, list[KindInfo]]) -> dict[str, list[KindInfo]]:
        """Return the versions of a group, by priority if another server serves one of them."""
        elsewhere = self._registry.aggregated_apis
        if not any((group, version) in elsewhere for version in versions):
            return versions

        def priority(version: str) -> int:
            if (api_service := elsewhere.get((group, version))) is not None:
                return int(api_service.spec["versionPriority"])
            return (get_priority(group, version) or CRD_PRIORITY).version

        ordered = sorted(sort_by_preference(versions), key=lambda version: -priority(version))
        return {version: versions[version] for version in ordered}

    def is_builtin(self, group: str) -> bool:
        """Return whether a group has kinds that are not custom resources."""
        versions = self.groups.get(group, {})
        return any(not isinstance(kind, CrdKind) for kinds in versions.values() for kind in kinds)

    def core_versions(self, address: str) -> Object:
        """Return the APIVersions of `/api`."""
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def group_list(self) -> Object:
        """Return the APIGroupList of `/apis`."""
        groups = [self._build_group(group) for group in self.groups if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def find_group(self, name: str) -> Object | None:
        """Return the APIGroup of `/apis/GROUP`, None for an unknown group."""
        if not name or name not in self.groups:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._build_group(name)}

    def _build_group(self, name: str) -> Object:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self.groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def find_resource_list(self, group: str, version: str) -> Object | None:
        """Return the APIResourceList of a group and version, None for an unknown one."""
        kinds = self.groups.get(group, {}).get(version)
        if kinds is None:
            return None
        resources = [
            entry for kind in sorted(kinds, key=lambda kind: kind.plural) for entry in self._build_resources(kind)
        ]
        resource_list: Object = {"kind": "APIResourceList", "groupVersion": f"{group}/{version}" if group else version}
        if group:
            resource_list["apiVersion"] = "v1"
        return {**resource_list, "resources": resources}

    def _build_resources(self, kind: KindInfo) -> list[Object]:
        entry: Object = {
            "name": kind.plural,
            "singularName": kind.singular or kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _verbs(kind),
        }
        if kind.short_names:
            entry["shortNames"] = list(kind.short_names)
        if kind.categories:
            entry["categories"] = list(kind.categories)
        home = self._registry.find_storage_resource(*(kind.stored_as or (kind.group, kind.plural)))
        if home is not None:
            entry["storageVersionHash"] = storage_version_hash(home.group, home.version, home.kind.kind)
        return [entry, *(self._build_subresource(kind, one) for one in self._subresources(kind))]

    def _build_subresource(self, kind: KindInfo, sub: Subresource) -> Object:
        entry: Object = {"name": f"{kind.plural}/{sub.name}", "singularName": "", "namespaced": kind.namespaced}
        if sub.group_version:
            group, _, version = sub.group_version.rpartition("/")
            entry |= {"group": group, "version": version}
        return {**entry, "kind": sub.kind or kind.kind, "verbs": sorted(sub.verbs)}

    def build_aggregated(self, *, core: bool) -> Object:
        """Return aggregated discovery: the core group for `/api`, all others for `/apis`."""
        items = [self._build_aggregated_group(group) for group in self.groups if (group == "") is core]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}

    def _build_aggregated_group(self, group: str) -> Object:
        versions = [self._build_aggregated_version(group, version) for version in self.groups[group]]
        metadata = {"name": group} if group else {}
        return {"metadata": metadata, "versions": versions}

    def _build_aggregated_version(self, group: str, version: str) -> Object:
        if (aggregated_api := self._registry.aggregated_apis.get((group, version))) is not None:
            return to_version_discovery(version, aggregated_api.list_resources())
        kinds = sorted(self.groups[group][version], key=lambda kind: kind.plural)
        resources = [self._build_aggregated_resource(kind, version) for kind in kinds]
        return {"version": version, "resources": resources, "freshness": "Current"}

    def _build_aggregated_resource(self, kind: KindInfo, version: str) -> Object:
        # upstream leaves group and version of the response kind empty for built-in kinds.
        own = isinstance(kind, CrdKind)
        response = {"group": kind.group if own else "", "version": version if own else "", "kind": kind.kind}
        entry: Object = {
            "resource": kind.plural,
            "responseKind": response,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": kind.singular or kind.kind.lower(),
            "verbs": _verbs(kind),
        }
        if kind.short_names:
            entry["shortNames"] = list(kind.short_names)
        if kind.categories:
            entry["categories"] = list(kind.categories)
        if parts := self._subresources(kind):
            entry["subresources"] = [_build_aggregated_subresource(kind, one, response) for one in parts]
        return entry

    def _subresources(self, kind: KindInfo) -> Sequence[Subresource]:
        """Return the subresources of a kind; `status` only if the kind has one in this version."""
        if isinstance(kind, CrdKind):
            return kind.subresources
        parts = sorted(kind.subresources, key=lambda sub: sub.name)
        home = self._registry.find_storage_resource(kind.group, kind.plural)
        without = home is not None and not home.has_status
        return [sub for sub in parts if not (without and sub == STATUS)]

    def list_paths(self) -> list[str]:
        """Return the discovery paths that `/` lists."""
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group, versions in self.groups.items():
            if group:
                found += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return found


def _build_aggregated_subresource(kind: KindInfo, sub: Subresource, own: Object) -> Object:
    """Return a subresource; `own` is the response kind of one without a kind of its own."""
    group, _, version = sub.group_version.rpartition("/")
    response = {"group": group, "version": version, "kind": sub.kind} if sub.kind else own
    return {"subresource": sub.name, "responseKind": response, "verbs": sorted(sub.verbs)}


def _verbs(kind: KindInfo) -> list[str]:
    return list(kind.listed_verbs) if isinstance(kind, CrdKind) else sorted(kind.verbs)
