"""What breaks at an API server that loses a gate or goes back to an older version.

Nothing is listed by hand: the object is decoded, prepared and judged as the server does it now and as it would then,
for whatever gate and kind; what the second one loses or refuses and the first did not is what breaks.
`placement.py` says the same of the components that place pods.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mockkube.api.catalogue import POD_SPECS
from mockkube.api.fields import FieldError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.components import API_SERVER
from mockkube.proposals.view import View, lost


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that breaks: at which component, in which object and field, and how."""

    component: str
    kind: str
    namespace: str
    name: str
    field: str
    reason: str


def finding(component: str, obj: ReadOnlyObject, field: str, reason: str) -> Finding:
    """Return what breaks, with the object's own names."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    return Finding(component, obj.get("kind", ""), metadata.get("namespace") or "", name, field, reason)


def server_findings(obj: ReadOnlyObject, before: View, after: View) -> Iterator[Finding]:
    """Yield what breaks for an object at an API server; nothing for a kind that it does not know even now."""
    if not before.knows(obj):
        return
    was = before.decode(obj)
    if not after.knows(obj):
        yield finding(API_SERVER, was, "", f"{after.caps.version} does not serve {was['apiVersion']} {was['kind']}")
        return
    seen = after.decode(was)
    unknown = list(lost(was, seen))
    for field in unknown:
        yield finding(API_SERVER, was, field, f"{after.caps.version} does not know it: lost with the next write")
    yield from _refusals(was, seen, before, after)
    (stored, _), (later, _) = before.created(before.decode(was)), after.created(seen)  # both of what is written out
    for field in lost(stored, later):
        if not any(field == other or field.startswith(f"{other}.") for other in unknown):
            yield finding(API_SERVER, was, field, "dropped from a new object without a word; a stored one keeps it")


def _refusals(was: Object, seen: Object, before: View, after: View) -> Iterator[Finding]:
    """Yield what a change, or a new object of the kind, would newly be refused for."""
    known = {str(error) for error in (*before.changed(was), *before.created(was)[1])}
    changes = {str(error): error for error in after.changed(seen) if str(error) not in known}
    for error in changes.values():
        yield finding(API_SERVER, was, error.field, f"every change but that of the status is refused: {error.message}")
    for error in after.created(seen)[1]:
        if str(error) not in known and str(error) not in changes:
            yield finding(API_SERVER, was, error.field, f"{_what_is_made(was, error)} refused: {error.message}")


def _what_is_made(obj: ReadOnlyObject, error: FieldError) -> str:
    way = ".".join(POD_SPECS.get(obj["kind"], ()))
    return (
        "new pods of it are" if obj["kind"] != "Pod" and way and error.field.startswith(way) else "a new one like it is"
    )


def distinct(findings: Iterator[Finding]) -> list[Finding]:
    """Return each finding once, in the order in which they came."""
    return list(dict.fromkeys(findings))
