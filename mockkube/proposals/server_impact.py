"""Impact on an API server: what breaks when it loses a gate or goes back to an older version.

The object is decoded, defaulted and validated twice: as the server does now, and as it would do then. Any field that
only the second one loses, and any error that only the second one reports, is a finding; there is no list by hand.
`placement_impact.py` does the same for the components that place pods.
"""

from collections.abc import Iterator

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_view import ComponentView, find_lost_paths


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """One thing that breaks: component, object, field and reason."""

    component: str
    kind: str
    namespace: str
    name: str
    field: str
    reason: str


def make_finding(component: str, obj: ReadOnlyObject, field: str, reason: str) -> ScanFinding:
    """Return a finding with the names of the object."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    return ScanFinding(component, obj.get("kind", ""), metadata.get("namespace") or "", name, field, reason)


def find_server_impact(obj: ReadOnlyObject, before: ComponentView, after: ComponentView) -> Iterator[ScanFinding]:
    """Yield what breaks for an object at an API server; nothing for a kind that it does not serve now."""
    if not before.is_served(obj):
        return
    decoded = before.decode(obj)
    if not after.is_served(obj):
        yield make_finding(
            API_SERVER, decoded, "", f"{after.caps.version} does not serve {decoded['apiVersion']} {decoded['kind']}"
        )
        return
    decoded_after = after.decode(decoded)
    unknown = list(find_lost_paths(decoded, decoded_after))
    for field in unknown:
        yield make_finding(
            API_SERVER, decoded, field, f"{after.caps.version} does not know it: lost with the next write"
        )
    yield from _find_validation_errors(decoded, decoded_after, before, after)
    # Decoded once more, so that both sides have gone through decoding and defaulting twice.
    (stored, _), (later, _) = (
        before.simulate_create(before.decode(decoded)),
        after.simulate_create(decoded_after),
    )  # both of what is written out
    for field in find_lost_paths(stored, later):
        if not any(field == other or field.startswith(f"{other}.") for other in unknown):
            yield make_finding(API_SERVER, decoded, field, "silently dropped from new objects; stored objects keep it")


def _find_validation_errors(
    was: Object, seen: Object, before: ComponentView, after: ComponentView
) -> Iterator[ScanFinding]:
    """Yield the errors that an update or a new object of the kind would newly get."""
    known = {str(error) for error in (*before.simulate_update(was), *before.simulate_create(was)[1])}
    changes = {str(error): error for error in after.simulate_update(seen) if str(error) not in known}
    for error in changes.values():
        yield make_finding(
            API_SERVER, was, error.field, f"every update except of the status is rejected: {error.message}"
        )
    for error in after.simulate_create(seen)[1]:
        if str(error) not in known and str(error) not in changes:
            yield make_finding(
                API_SERVER, was, error.field, f"{_describe_creation(was, error)} refused: {error.message}"
            )


def _describe_creation(obj: ReadOnlyObject, error: FieldError) -> str:
    pod_spec_path = ".".join(POD_SPEC_PATHS.get(obj["kind"], ()))
    return (
        "new pods of it are"
        if obj["kind"] != "Pod" and pod_spec_path and error.field.startswith(pod_spec_path)
        else "a new one like it is"
    )


def unique_findings(findings: Iterator[ScanFinding]) -> list[ScanFinding]:
    """Return each finding once, in the order in which they came."""
    return list(dict.fromkeys(findings))
