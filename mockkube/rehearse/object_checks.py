"""Checks of objects: each is decoded, defaulted and validated as the API server does now, and as it will do.

Objects that one controller makes alike, like the pods of a ReplicaSet, are checked once.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from mockkube.api.decoding.codec import DecodingError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.apiserver.admission.policies.expressions import validate_expression
from mockkube.apiserver.custom.rule_validation import validate_crd_schema
from mockkube.features.components import API_SERVER
from mockkube.importing.webhooks import STUB_CONDITION
from mockkube.matching.cel.devices import validate_device_expression
from mockkube.proposals.component_extensions import make_object_rules, make_validation_extensions
from mockkube.proposals.component_view import ComponentView, find_lost_paths
from mockkube.proposals.loading import trains_for
from mockkube.proposals.server_impact import ScanFinding, find_server_impact
from mockkube.rehearse.findings import Finding, Severity, Topic, name_object
from mockkube.rehearse.upgrade import Upgrade

_POLICIES: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
_WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_LOST_WITH_WRITE: Final = "lost with the next write"
_DROPPED: Final = "silently dropped"
_NOT_SERVED: Final = "does not serve"


def check_objects(upgrade: Upgrade, now: datetime) -> Iterator[Finding]:
    """Yield what the new version rejects, drops or fills in differently."""
    before, after = make_view(upgrade, now, new=False), make_view(upgrade, now, new=True)
    seen: set[tuple[str, ...]] = set()
    for obj in upgrade.objects:
        identity = _find_identity(obj)
        if identity in seen:
            continue
        seen.add(identity)
        yield from check_object(_without_stubs(obj), before, after)


def make_view(upgrade: Upgrade, now: datetime, *, new: bool) -> ComponentView:
    """Return how the API server handles objects, before or after the upgrade."""
    caps = upgrade.capabilities_after() if new else upgrade.capabilities_before()
    trains = trains_for(caps)
    # Policies and CRDs are checked in full, other than by a scan: an API server would do so.
    dependencies = StrategyDependencies(
        device_expression=validate_device_expression,
        policy_expression=validate_expression,
        custom_schema=validate_crd_schema,
        extensions=make_validation_extensions(caps.version, trains),
        objects=make_object_rules(caps.version, trains),
    )
    return ComponentView(caps, now, dependencies)


def _find_identity(obj: ReadOnlyObject) -> tuple[str, ...]:
    """Return what objects have in common that are checked once: their controller, or nothing."""
    owner = next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    if owner is not None:
        return (obj["kind"], owner.get("uid", ""))
    return (obj["kind"], obj["apiVersion"], name_object(obj))


def _without_stubs(obj: Object) -> Object:
    """Return webhook configurations as they were before the import."""
    if obj["kind"] not in _WEBHOOKS:
        return obj
    webhooks = []
    for one in obj.get("webhooks") or ():
        conditions = [condition for condition in one.get("matchConditions") or () if condition != STUB_CONDITION]
        rest = {key: value for key, value in one.items() if key != "matchConditions"}
        webhooks.append({**rest, **({"matchConditions": conditions} if conditions else {})})
    return {**obj, "webhooks": webhooks}


def check_object(obj: Object, before: ComponentView, after: ComponentView) -> Iterator[Finding]:
    """Yield what changes for one object."""
    try:
        for found in find_server_impact(obj, before, after):
            yield _to_finding(obj, found)
        if before.is_served(obj) and after.is_served(obj):
            yield from _find_new_defaults(obj, before, after)
            yield from _find_new_warnings(obj, before, after)
    except DecodingError:
        yield Finding(
            Severity.BREAKS,
            Topic.OBJECT,
            "cannot be decoded: a field has the wrong type",
            component=API_SERVER,
            kind=obj["kind"],
            objects=(name_object(obj),),
        )


def _to_finding(obj: ReadOnlyObject, found: ScanFinding) -> Finding:
    severity, topic, remedy = Severity.BREAKS, Topic.OBJECT, "change the field before the upgrade"
    if obj["kind"] in _POLICIES:
        topic, remedy = Topic.WEBHOOK, "change the policy before the upgrade"
    if _LOST_WITH_WRITE in found.reason or _DROPPED in found.reason:
        topic, remedy = Topic.FIELD, "keep a copy of the field, or its gate on"
    elif _NOT_SERVED in found.reason:
        topic = Topic.API
        remedy = (
            f"delete the objects, or write them in another version, before the upgrade to {found.reason.split()[0]}"
        )
    return Finding(severity, topic, found.reason, remedy, API_SERVER, obj["kind"], found.field, (name_object(obj),))


def _find_new_defaults(obj: Object, before: ComponentView, after: ComponentView) -> Iterator[Finding]:
    """Yield fields that the new version fills in, and values that it fills in differently."""
    old, new = before.decode(obj), after.decode(obj)
    for field in find_lost_paths(new, old):
        yield Finding(
            Severity.CHANGES,
            Topic.DEFAULT,
            f"{after.caps.version} fills in {field}: {_get_value(new, field)!r}",
            component=API_SERVER,
            kind=obj["kind"],
            field=field,
            objects=(name_object(obj),),
        )


def _find_new_warnings(obj: Object, before: ComponentView, after: ComponentView) -> Iterator[Finding]:
    known = set(before.list_warnings(before.decode(obj)))
    for text in after.list_warnings(after.decode(obj)):
        if text not in known:
            yield Finding(
                Severity.CHANGES, Topic.WARNING, text, "", API_SERVER, obj["kind"], objects=(name_object(obj),)
            )


def _get_value(obj: Any, path: str) -> Any:
    value = obj
    for part in path.replace("[", ".").replace("]", "").split("."):
        value = value[int(part)] if isinstance(value, list) else value.get(part) if isinstance(value, dict) else None
    return value
