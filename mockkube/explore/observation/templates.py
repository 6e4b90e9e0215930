"""Pod templates as operators wrote them, compared with pods as stored."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching import json_patch
from mockkube.api.patching.patch_type import PatchType
from mockkube.explore.observation.operator_requests import OperatorRequest
from mockkube.explore.observation.workload_kinds import find_pod_spec, find_pod_spec_path
from mockkube.lazy_dataclasses import dataclass

# Values that the API does not store, so that a manifest with them says nothing.
_NOT_STORED: Final[tuple[Any, ...]] = (None, "", 0, False, [], {})
_TOLERATIONS: Final = "tolerations"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The pod that an object is or creates."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: ReadOnlyObject
    # Number of edits when it was first wanted: no pod created before was made from it.
    since: int = field(default=0, compare=False, repr=False)

    def distance(self, pod: ReadOnlyObject) -> int:
        """Return the number of values in which a pod differs from the template."""
        metadata = pod["metadata"]
        parts = (
            (self.labels, metadata.get("labels") or {}),
            (self.annotations, metadata.get("annotations") or {}),
            (self.spec, pod["spec"]),
        )
        return sum(_distance(wanted, found) for wanted, found in parts)


def make_template(manifest: ReadOnlyObject, spec: ReadOnlyObject) -> PodTemplate:
    """Return the pod template of a manifest, with the given pod spec instead of its own."""
    metadata = _pod_metadata(manifest)
    return PodTemplate(metadata.get("labels") or {}, metadata.get("annotations") or {}, spec)


def _pod_metadata(manifest: ReadOnlyObject) -> ReadOnlyObject:
    found: Any = manifest
    for step in (find_pod_spec_path(manifest) or ())[:-1]:
        found = found.get(step) or {}
    metadata: ReadOnlyObject = found.get("metadata") or {}
    return metadata


def _distance(wanted: Any, found: Any) -> int:
    if wanted in _NOT_STORED:
        return 0
    if isinstance(wanted, Mapping):
        has = found if isinstance(found, Mapping) else {}
        return sum(_distance(value, has.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list | tuple):
        others = found if isinstance(found, list | tuple) else ()
        return sum(min((_distance(one, other) for other in others), default=_count_values(one)) for one in wanted)
    # Text is compared: a manifest may hold 8080 where the API stores "8080", as for ports and quantities.
    return int(str(wanted) != str(found))


def _count_values(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_count_values, value.values()))
    return sum(map(_count_values, value)) if isinstance(value, list | tuple) else int(value not in _NOT_STORED)


# Fields that are asked for and not stored


def find_lost_tolerations(wanted: ReadOnlyObject, stored: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the tolerations of the wanted pod spec that the stored one lacks."""
    has = stored.get(_TOLERATIONS) or ()
    return [one for one in wanted.get(_TOLERATIONS) or () if not any(_has_toleration(other, one) for other in has)]


def _has_toleration(found: Any, wanted: Any) -> bool:
    return all(found.get(key) == value for key, value in wanted.items() if value not in _NOT_STORED)


def find_lost_fields(wanted: Any, stored: Any, at: str) -> Iterator[str]:
    """Yield the paths that the wanted pod spec has and the stored one lacks, except tolerations."""
    if isinstance(wanted, Mapping):
        has = stored if isinstance(stored, Mapping) else {}
        for key, value in wanted.items():
            if value in _NOT_STORED or key == _TOLERATIONS:
                continue
            if key in has:
                yield from find_lost_fields(value, has[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}"
    elif isinstance(wanted, list | tuple) and isinstance(stored, list | tuple):
        for index, one in enumerate(wanted):
            other = _find_counterpart(one, index, stored)
            if other is not None:
                yield from find_lost_fields(one, other, f"{at}[{index}]")


def _find_counterpart(one: Any, index: int, others: Any) -> Any:
    """Return the item of a list that corresponds to one of another list: by name, else by index."""
    if isinstance(one, Mapping) and "name" in one:
        named = (other for other in others if isinstance(other, Mapping) and other.get("name") == one["name"])
        return next(named, None)
    return others[index] if index < len(others) else None


def restore_missing(stored: Any, wanted: Any) -> Any:
    """Return the stored value with everything added that is wanted and missing."""
    if isinstance(stored, Mapping) and isinstance(wanted, Mapping):
        added = {key: value for key, value in wanted.items() if key not in stored and value not in _NOT_STORED}
        restored = {
            key: restore_missing(value, wanted[key]) if key in wanted else value for key, value in stored.items()
        }
        if _TOLERATIONS in stored:
            lost = find_lost_tolerations(wanted, stored)
            restored[_TOLERATIONS] = [*(stored[_TOLERATIONS] or ()), *lost]
        return {**restored, **added}
    if isinstance(stored, list) and isinstance(wanted, list | tuple):
        found = [_find_counterpart(one, index, wanted) for index, one in enumerate(stored)]
        return [one if other is None else restore_missing(one, other) for one, other in zip(stored, found, strict=True)]
    return stored


# The pod spec that an operator means after a write


def compute_intended_spec(
    obj: ReadOnlyObject, request: OperatorRequest | None, before: ReadOnlyObject | None
) -> ReadOnlyObject:
    """Return the pod spec that the operator wants after an accepted write.

    `obj` is what was stored, `before` the manifest that was wanted until then.
    """
    stored, kind = _get_pod_spec(obj), {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    if request is not None and request.patch_type is None and not request.subresource:
        return _restore_spec(stored, _get_pod_spec({**request.body, **kind}))
    if before is None:
        return stored
    desired = _get_pod_spec(before)
    if request is None or request.subresource:
        return _merge_spec(desired, stored, {})
    if isinstance(request.body, Mapping):
        written = _get_pod_spec({**request.body, **kind})
        return _restore_spec(_merge_spec(desired, stored, written), written)
    return _restore_spec(stored, _apply_json_patch(before, request)) if request.patch_type is PatchType.JSON else stored


def _get_pod_spec(manifest: ReadOnlyObject) -> Object:
    part = find_pod_spec(manifest)
    return dict(part.value) if part is not None and isinstance(part.value, Mapping) else {}


def _restore_spec(stored: ReadOnlyObject, wanted: ReadOnlyObject) -> ReadOnlyObject:
    restored: ReadOnlyObject = restore_missing(stored, _without_directives(wanted))
    return restored


def _without_directives(value: Any) -> Any:
    """Return a patch without strategic merge directives such as `$patch`."""
    if isinstance(value, Mapping):
        return {key: _without_directives(one) for key, one in value.items() if not str(key).startswith("$")}
    return [_without_directives(one) for one in value] if isinstance(value, list | tuple) else value


def _apply_json_patch(before: ReadOnlyObject, request: OperatorRequest) -> ReadOnlyObject:
    """Return the pod spec after a JSON patch; {} if the patch does not apply to the wanted manifest."""
    try:
        return dict(_get_pod_spec(json_patch.apply(before, request.body)))
    except (ApiError, KeyError, ValueError, TypeError):
        return {}


def _merge_spec(desired: ReadOnlyObject, stored: ReadOnlyObject, written: ReadOnlyObject) -> ReadOnlyObject:
    merged: ReadOnlyObject = _merge_intended(desired, stored, written)
    return merged


def _merge_intended(desired: Any, stored: Any, written: Any) -> Any:
    """Return the stored value with wanted values that are missing and were not written by this request."""
    if isinstance(stored, Mapping) and isinstance(desired, Mapping):
        written_keys = written if isinstance(written, Mapping) else {}
        gone = {key: value for key, value in desired.items() if key not in stored and key not in written_keys}
        return {key: _merge_intended_key(desired, stored, written_keys, key) for key in stored} | gone
    return stored


def _merge_intended_key(
    desired: Mapping[str, Any], stored: Mapping[str, Any], written_keys: Mapping[str, Any], key: str
) -> Any:
    """Return the stored value of one key with its missing wanted values."""
    if key not in desired or (key in written_keys and not isinstance(written_keys[key], Mapping)):
        return stored[key]
    if key == _TOLERATIONS:
        return [*(stored[key] or ()), *find_lost_tolerations(desired, stored)]
    if isinstance(stored[key], list) and key not in written_keys:
        return restore_missing(stored[key], desired[key])
    return _merge_intended(desired[key], stored[key], written_keys.get(key))
