"""Find fields outside the pod spec that operators wrote and the API server did not store.

Only fields count that an API server would store that has changed: others say nothing about a rollout.
"""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.decoding.codec import DecodingError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explore.observation.operator_requests import OperatorRequest
from mockkube.explore.observation.templates import find_lost_fields
from mockkube.explore.observation.workload_kinds import find_pod_spec_path, is_custom
from mockkube.proposals.component_view import ComponentView

# Written by the API server, or by components.
_NOT_SPEC: Final = ("apiVersion", "kind", "metadata", "status")


def find_unstored_paths(request: OperatorRequest, obj: ReadOnlyObject, reference: ComponentView) -> list[str]:
    """Return the paths that a request has and the stored object lacks; `reference` is the changed API server."""
    if request.subresource or not isinstance(request.body, Mapping) or is_custom(obj):
        return []
    wanted = _without_pod_spec({key: one for key, one in request.body.items() if key not in _NOT_SPEC}, obj)
    lost = [path.removeprefix(".") for path in find_lost_fields(wanted, obj, "")]
    if not lost:
        return []
    dropped = _find_dropped(request.body, wanted, obj, reference)
    return [path for path in lost if not any(_is_within(path, one) for one in dropped)]


def _is_within(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _find_dropped(
    body: Mapping[str, Any], wanted: ReadOnlyObject, obj: ReadOnlyObject, reference: ComponentView
) -> list[str]:
    """Return the paths that the changed API server would not store either."""
    # A patch has a part of the object only, so it is completed with the stored one.
    whole = {**obj, **{key: _complete(obj.get(key), one) for key, one in body.items() if key not in _NOT_SPEC}}
    if not reference.is_served(whole):
        return [path.removeprefix(".") for path in find_lost_fields(wanted, {}, "")]
    try:
        stored, _ = reference.simulate_create(reference.decode(whole))
    except DecodingError:
        return []
    return [path.removeprefix(".") for path in find_lost_fields(wanted, stored, "")]


def _complete(stored: Any, written: Any) -> Any:
    """Return the stored value with what was written over it, as a merge patch does."""
    if isinstance(stored, Mapping) and isinstance(written, Mapping):
        return {**stored, **{key: _complete(stored.get(key), one) for key, one in written.items()}}
    return written


def _without_pod_spec(body: ReadOnlyObject, obj: ReadOnlyObject) -> ReadOnlyObject:
    """Return a body without its pod spec, which is compared by the intent."""
    path = find_pod_spec_path(obj)
    if path is None:
        return body
    return _without(body, path)


def _without(value: ReadOnlyObject, path: tuple[str, ...]) -> ReadOnlyObject:
    first, *rest = path
    if not isinstance(value.get(first), Mapping):
        return value
    if not rest:
        return {key: one for key, one in value.items() if key != first}
    return {**value, first: _without(value[first], tuple(rest))}
