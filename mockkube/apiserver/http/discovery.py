"""Discovery documents: APIGroupList, APIResourceList, and aggregated discovery."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from mockkube.api.catalogue import STATUS, KindInfo, Subresource
from mockkube.api.custom.kind import CustomKind
from mockkube.api.custom.versions import preferred_first
from mockkube.api.types import Object
from mockkube.apiserver.aggregation.resource_lists import version_of
from mockkube.apiserver.http.negotiation import clauses
from mockkube.apiserver.post_start_hooks.api_service_priorities import CUSTOM, group_priority, priority_of
from mockkube.apiserver.registry.registry import Registry

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_FIRST: Final = "apiregistration.k8s.io"


def wants_aggregated(accept: str) -> bool:
    """Return whether the client accepts aggregated discovery."""
    for clause in clauses(accept):
        if clause.parameter("as") == "APIGroupDiscoveryList":
            return clause.parameter("v") == "v2" and clause.parameter("g") == "apidiscovery.k8s.io"
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
        if self._edition != self._registry.edition:
            self._edition, self._groups = self._registry.edition, self._found()
        return self._groups

    def _found(self) -> dict[str, dict[str, list[KindInfo]]]:
        found: dict[str, dict[str, list[KindInfo]]] = {}
        for kind, versions in self._registry.served_kinds():
            for version in versions:
                found.setdefault(kind.group, {}).setdefault(version, []).append(kind)
            if isinstance(kind, CustomKind):
                group = found[kind.group]
                found[kind.group] = {version: group[version] for version in preferred_first(group)}
        for name, version in self._registry.elsewhere:
            found.setdefault(name, {}).setdefault(version, [])
        return {name: self._in_order(name, found[name]) for name in sorted(found, key=self._rank)}

    def _rank(self, group: str) -> tuple[bool, int, str]:
        """Return the sort key of a group: apiregistration.k8s.io first, then by priority and name."""
        # upstream 1.36: kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go
        priorities = [
            one.spec["groupPriorityMinimum"] for (name, _), one in self._registry.elsewhere.items() if name == group
        ]
        return group != _FIRST, -max(priorities, default=0) or -group_priority(group), group

    def _in_order(self, group: str, versions: dict[str, list[KindInfo]]) -> dict[str, list[KindInfo]]:
        """Return the versions of a group, by priority if another server serves one of them."""
        elsewhere = self._registry.elsewhere
        if not any((group, version) in elsewhere for version in versions):
            return versions

        def priority(version: str) -> int:
            if (told := elsewhere.get((group, version))) is not None:
                return int(told.spec["versionPriority"])
            return (priority_of(group, version) or CUSTOM).version

        ordered = sorted(preferred_first(versions), key=lambda version: -priority(version))
        return {version: versions[version] for version in ordered}

    def is_builtin(self, group: str) -> bool:
        """Return whether a group has kinds that are not custom resources."""
        versions = self.groups.get(group, {})
        return any(not isinstance(kind, CustomKind) for kinds in versions.values() for kind in kinds)

    def core_versions(self, address: str) -> Object:
        """Return the APIVersions of `/api`."""
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def group_list(self) -> Object:
        """Return the APIGroupList of `/apis`."""
        groups = [self._group(group) for group in self.groups if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Object | None:
        """Return the APIGroup of `/apis/GROUP`, None for an unknown group."""
        if not name or name not in self.groups:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> Object:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self.groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, group: str, version: str) -> Object | None:
        """Return the APIResourceList of a group and version, None for an unknown one."""
        kinds = self.groups.get(group, {}).get(version)
        if kinds is None:
            return None
        resources = [entry for kind in sorted(kinds, key=lambda kind: kind.plural) for entry in self._entries(kind)]
        whole: Object = {"kind": "APIResourceList", "groupVersion": f"{group}/{version}" if group else version}
        if group:
            whole["apiVersion"] = "v1"
        return {**whole, "resources": resources}

    def _entries(self, kind: KindInfo) -> list[Object]:
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
        home = self._registry.stored(*(kind.stored_as or (kind.group, kind.plural)))
        if home is not None:
            entry["storageVersionHash"] = storage_version_hash(home.group, home.version, home.kind.kind)
        return [entry, *(self._subentry(kind, one) for one in self._subresources(kind))]

    def _subentry(self, kind: KindInfo, sub: Subresource) -> Object:
        entry: Object = {"name": f"{kind.plural}/{sub.name}", "singularName": "", "namespaced": kind.namespaced}
        if sub.group_version:
            group, _, version = sub.group_version.rpartition("/")
            entry |= {"group": group, "version": version}
        return {**entry, "kind": sub.kind or kind.kind, "verbs": sorted(sub.verbs)}

    def aggregated(self, *, core: bool) -> Object:
        """Return aggregated discovery: the core group for `/api`, all others for `/apis`."""
        items = [self._aggregated_group(group) for group in self.groups if (group == "") is core]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}

    def _aggregated_group(self, group: str) -> Object:
        versions = [self._aggregated_version(group, version) for version in self.groups[group]]
        metadata = {"name": group} if group else {}
        return {"metadata": metadata, "versions": versions}

    def _aggregated_version(self, group: str, version: str) -> Object:
        if (backend := self._registry.elsewhere.get((group, version))) is not None:
            return version_of(version, backend.resources)
        kinds = sorted(self.groups[group][version], key=lambda kind: kind.plural)
        resources = [self._aggregated(kind, version) for kind in kinds]
        return {"version": version, "resources": resources, "freshness": "Current"}

    def _aggregated(self, kind: KindInfo, version: str) -> Object:
        # upstream leaves group and version of the response kind empty for built-in kinds.
        own = isinstance(kind, CustomKind)
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
            entry["subresources"] = [_aggregated_sub(kind, one, response) for one in parts]
        return entry

    def _subresources(self, kind: KindInfo) -> Sequence[Subresource]:
        """Return the subresources of a kind; `status` only if the kind has one in this version."""
        if isinstance(kind, CustomKind):
            return kind.subresources
        parts = sorted(kind.subresources, key=lambda sub: sub.name)
        home = self._registry.stored(kind.group, kind.plural)
        without = home is not None and "status" not in home.node.fields
        return [sub for sub in parts if not (without and sub == STATUS)]

    def paths(self) -> list[str]:
        """Return the discovery paths that `/` lists."""
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group, versions in self.groups.items():
            if group:
                found += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return found


def _aggregated_sub(kind: KindInfo, sub: Subresource, own: Object) -> Object:
    """Return a subresource; `own` is the response kind of one without a kind of its own."""
    group, _, version = sub.group_version.rpartition("/")
    response = {"group": group, "version": version, "kind": sub.kind} if sub.kind else own
    return {"subresource": sub.name, "responseKind": response, "verbs": sorted(sub.verbs)}


def _verbs(kind: KindInfo) -> list[str]:
    return list(kind.listed_verbs) if isinstance(kind, CustomKind) else sorted(kind.verbs)
