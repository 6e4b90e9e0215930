"""Checks of APIs: group versions that the new version no longer serves, and who still asks for them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.components import API_SERVER
from mockkube.importing.object_encoder import make_registry
from mockkube.importing.redaction import LAST_APPLIED
from mockkube.rehearse.findings import Finding, Severity, Topic, name_object
from mockkube.rehearse.upgrade import Upgrade

_RULES: Final = {
    "ValidatingWebhookConfiguration": ("webhooks", "rules"),
    "MutatingWebhookConfiguration": ("webhooks", "rules"),
    "ValidatingAdmissionPolicy": ("spec", "matchConstraints", "resourceRules"),
    "MutatingAdmissionPolicy": ("spec", "matchConstraints", "resourceRules"),
}
# Fields in which objects name the apiVersion of another one.
_REFERENCES: Final = ("scaleTargetRef", "paramKind", "objectRef", "targetRef", "dataSource", "dataSourceRef")


class RemovedApis:
    """Kinds that the API server has now and no longer has afterwards."""

    def __init__(self, upgrade: Upgrade) -> None:
        before, after = make_registry(upgrade.capabilities_before()), make_registry(upgrade.capabilities_after())
        old = {(one.api_version, one.kind.kind): one for one in before.resources.values()}
        new = {(one.api_version, one.kind.kind) for one in after.resources.values()}
        self._version = upgrade.to
        # apiVersion and kind, with the plural.
        self.kinds: Mapping[tuple[str, str], str] = {key: one.plural for key, one in old.items() if key not in new}
        self.api_versions = {api_version for api_version, _ in old} - {api_version for api_version, _ in new}
        # The version of the same kind that is served afterwards.
        self._successors = {
            (api_version.rpartition("/")[0], kind): api_version for api_version, kind in sorted(new, reverse=True)
        }
        stable = {(one.rpartition("/")[0], kind): one for one, kind in new if "beta" not in one and "alpha" not in one}
        self._successors |= stable

    def find_successor(self, api_version: str, kind: str) -> str:
        """Return the apiVersion in which a kind is served afterwards; empty if there is none."""
        return self._successors.get((api_version.rpartition("/")[0], kind), "")

    def make_finding(self, api_version: str, kind: str, asker: str, obj: ReadOnlyObject | None = None) -> Finding:
        """Return the finding that a client requests a removed kind."""
        successor = self.find_successor(api_version, kind)
        remedy = f"use {successor}" if successor else "there is no other version: delete the objects before the upgrade"
        return Finding(
            Severity.BREAKS,
            Topic.API,
            f"{self._version} does not serve {api_version} {kind}; {asker} asks for it",
            remedy,
            API_SERVER,
            obj["kind"] if obj is not None else "",
            objects=(name_object(obj),) if obj is not None else (),
        )


def check_apis(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield findings for removed APIs: those that clients request, then those without a known client."""
    removed = RemovedApis(upgrade)
    asked = set()
    for obj in upgrade.objects:
        for api_version, kind, asker in _find_askers(obj, removed):
            asked.add((api_version, kind))
            yield removed.make_finding(api_version, kind, asker, obj)
    for api_version, kind in sorted(removed.kinds):
        if (api_version, kind) not in asked:
            successor = removed.find_successor(api_version, kind)
            yield Finding(
                Severity.CHANGES,
                Topic.API,
                f"{upgrade.to} does not serve {api_version} {kind}; nothing in the import asks for it",
                f"clients use {successor}" if successor else "",
                API_SERVER,
            )


def _find_askers(obj: ReadOnlyObject, removed: RemovedApis) -> Iterator[tuple[str, str, str]]:
    """Yield apiVersion and kind of what goes away, with who asks for it."""
    metadata, own = obj["metadata"], (obj["apiVersion"], obj["kind"])
    if own in removed.kinds:
        yield *own, "the object is stored in that version and"
    for entry in metadata.get("managedFields") or ():
        if (key := (entry.get("apiVersion", ""), obj["kind"])) in removed.kinds and key != own:
            yield *key, f"the manager {entry.get('manager', '')}"
    applied = _load_last_applied(metadata)
    if (key := (str(applied.get("apiVersion", "")), str(applied.get("kind", "")))) in removed.kinds:
        yield *key, "the manifest of kubectl apply"
    for rule in _find_rules(obj):
        yield from ((*key, "a rule") for key in _match_rule(rule, removed))
    for reference in (*_find_references(obj.get("spec")), *(metadata.get("ownerReferences") or ())):
        if (key := (str(reference.get("apiVersion", "")), str(reference.get("kind", "")))) in removed.kinds:
            yield *key, "a reference"


def _load_last_applied(metadata: ReadOnlyObject) -> ReadOnlyObject:
    text = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    try:
        loaded = orjson.loads(text) if text else {}
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _find_rules(obj: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    path = _RULES.get(obj["kind"])
    if path is None:
        return
    if path[0] == "webhooks":
        for webhook in obj.get("webhooks") or ():
            if webhook.get("matchPolicy", "Equivalent") == "Exact" or _names_no_other(webhook):
                yield from webhook.get("rules") or ()
        return
    value: Any = obj
    for name in path:
        value = (value or {}).get(name)
    yield from value or ()


def _names_no_other(webhook: ReadOnlyObject) -> bool:
    """Return whether no rule holds for every version: an equivalent request is converted to one that goes away."""
    return all("*" not in (rule.get("apiVersions") or ()) for rule in webhook.get("rules") or ())


def _match_rule(rule: ReadOnlyObject, removed: RemovedApis) -> Iterator[tuple[str, str]]:
    """Yield removed kinds for which a rule names no other version."""
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    for (api_version, kind), plural in removed.kinds.items():
        group, _, version = api_version.rpartition("/")
        named = any(one.partition("/")[0] in (plural, "*") for one in rule.get("resources") or ())
        successor = removed.find_successor(api_version, kind).rpartition("/")[2]
        if named and group in groups and version in versions and successor not in versions:
            yield api_version, kind


def _find_references(value: Any) -> Iterator[ReadOnlyObject]:
    if isinstance(value, dict):
        for name in _REFERENCES:
            if isinstance(value.get(name), dict):
                yield value[name]
        for one in value.values():
            yield from _find_references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _find_references(one)
