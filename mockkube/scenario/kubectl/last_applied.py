"""Client-side `kubectl apply`: a three-way patch with the last applied configuration from the annotation."""

# upstream 1.36: kubectl/pkg/util/apply.go, kubectl/pkg/cmd/apply/patcher.go
import json
from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def with_last_applied(obj: ReadOnlyObject) -> Object:
    """Return a manifest with itself in the last-applied annotation."""
    metadata = obj.get("metadata") or {}
    # The annotation must not contain itself, or it would grow with each apply.
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    plain = {**obj, "metadata": {**metadata, "annotations": annotations}}
    text = json.dumps(plain, separators=(",", ":"), sort_keys=True) + "\n"
    return {**obj, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}}


def make_patch(wanted: ReadOnlyObject, present: ReadOnlyObject) -> Object:
    """Return the merge patch from three sides: the manifest, the present object and the last applied manifest.

    differs: lists are replaced as wholes, where kubectl merges those with merge keys.
    """
    text = present["metadata"].get("annotations", {}).get(LAST_APPLIED)
    last = json.loads(text) if text else {}
    modified = with_last_applied(wanted)
    patch = _find_additions(modified, present)
    _add_removals(patch, modified, last)
    return patch


def _find_additions(wanted: Mapping[str, Any], present: Any) -> Object:
    """Return the part of a wanted map that the present object lacks."""
    there = present if isinstance(present, Mapping) else {}
    changed: Object = {}
    for key, value in wanted.items():
        if isinstance(value, Mapping):
            below = _find_additions(value, there.get(key))
            # An empty map is a change only if the key is missing.
            if below or key not in there:
                changed[key] = below
        elif there.get(key) != value:
            changed[key] = value
    return changed


def _add_removals(patch: Object, wanted: Mapping[str, Any], last: Mapping[str, Any]) -> None:
    """Set fields to null that were applied last and are no longer wanted."""
    for key, value in last.items():
        if key not in wanted:
            patch[key] = None
        elif isinstance(value, Mapping) and isinstance(wanted[key], Mapping):
            below = patch.get(key) or {}
            _add_removals(below, wanted[key], value)
            if below:
                patch[key] = below
