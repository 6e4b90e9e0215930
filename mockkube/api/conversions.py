"""Conversion of objects between the versions of their kind; most versions differ by name only."""

from mockkube.api.catalogue import CONVERTED_KINDS, KINDS, load_kind
from mockkube.api.json_objects import Object


def convert(obj: Object, origin: str, target: str) -> Object:
    """Return an object of version `origin` in version `target`; it may share parts with the original."""
    converted = obj
    if obj["kind"] in CONVERTED_KINDS:
        for kind in KINDS:
            if kind.kind == obj["kind"] and (
                function := load_kind(kind.group, kind.kind).conversions.get((origin, target))
            ):
                converted = function(obj)
                break
    return {**converted, "apiVersion": target}
