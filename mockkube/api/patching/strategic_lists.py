"""Lists in strategic merge patches: element types, deletions, and the order of the merged items.

Three orders meet: `$setElementOrder` precedes the order of the patch, and that the order of the live object, which
only decides where the items go that the patch does not mention.
"""

# upstream 1.36: apimachinery/pkg/util/strategicpatch/patch.go

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching.errors import PatchFailed, PatchRejected
from mockkube.api.patching.go_formatting import format_go_value, go_type_name

DIRECTIVE: Final = "$patch"


def slice_element_type(*lists: list[Any]) -> type:
    """Return the type that all items have; raise if they differ, are lists, or there are none."""
    items = [item for each in lists for item in each]
    if not items:
        raise PatchFailed("no elements in any of the given slices")
    kind = type(items[0])
    if kind is list:
        raise PatchRejected("lists of lists are not supported")
    if kind is type(None) or any(type(item) is not kind for item in items):
        raise PatchFailed(f"list element types are not identical: {format_go_value(list(lists))}")
    return kind


def merge_scalars(original: list[Any], patch: list[Any]) -> list[Any]:
    """Return the union of two lists of scalars."""
    return normalize_element_order(list(dict.fromkeys([*original, *patch])), patch, original, "")


def split_special_elements(
    original: list[Any], patch: list[Any], merge_key: str
) -> tuple[list[ReadOnlyObject], list[ReadOnlyObject]]:
    """Apply the items of the patch that have a directive; return the rest of the original and of the patch."""
    unwanted, changes, replace = set[Any](), [], False
    for item in patch:
        match item.get(DIRECTIVE):
            case None:
                changes.append(item)
            case "delete":
                unwanted.add(element_identity(item, merge_key))
            case "replace":
                replace = True
            case "merge":
                raise PatchFailed("merging lists cannot yet be specified in the patch")
            case other:
                raise PatchFailed(f"unknown patch type: {format_go_value(other)} in map: {format_go_value(item)}")
    if replace:
        return changes, []
    if not unwanted:
        return original, changes
    return [one for one in original if not is_scalar_in(one.get(merge_key), unwanted)], changes


def is_scalar_in(value: Any, plain: Collection[Any]) -> bool:
    """Return whether a value is in a set of scalars; objects and lists never are."""
    return value.__class__ not in (dict, list) and value in plain


def validate_set_element_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Raise unless the items of the patch are in the order that it prescribes itself, none left out."""
    if not patch or not order:
        return
    expected_items = [item for item in patch if not (merge_key and _directive(item, merge_key) == "delete")]
    at = position = 0
    while at < len(expected_items) and position < len(order):
        if _directive(expected_items[at], "") is not None:
            at += 1
        else:
            at += element_identity(expected_items[at], merge_key) == element_identity(order[position], merge_key)
            position += 1
    if at < len(expected_items):
        raise PatchFailed(
            f"The order in patch list:\n{format_go_value(patch)}\n"
            f" doesn't match $setElementOrder list:\n{format_go_value(order)}\n"
        )


def live_element_order(original: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """Return the order of the live object as upstream gets it after deletions and insertions.

    It works in place: deleted items free slots at the end, which the first appended items fill. With
    `$setElementOrder` these count as items of the live object.
    """
    if not merge_key:
        return original
    kept, changes = split_special_elements(original, patch, merge_key)
    known = _index_by_identity(kept, merge_key)
    new = [item for item in changes if element_identity(item, merge_key) not in known]
    return [*kept, *new][: len(original)]


def normalize_element_order(
    merged: Sequence[Any], order: list[Any], live_order: list[Any], merge_key: str
) -> list[Any]:
    """Sort the items named in `order` by it, the others by `live_order`, and interleave the two."""
    patch_positions, live_positions = _index_by_identity(order, merge_key), _index_by_identity(live_order, merge_key)
    patched = [item for item in merged if element_identity(item, merge_key) in patch_positions]
    others = [item for item in merged if element_identity(item, merge_key) not in patch_positions]
    patched.sort(key=lambda item: patch_positions[element_identity(item, merge_key)])
    others.sort(key=lambda item: live_positions.get(element_identity(item, merge_key), -1))
    return _interleave(others, patched, lambda item: live_positions.get(element_identity(item, merge_key), -1))


def _interleave(others: list[Any], patched: list[Any], place: Callable[[Any], int]) -> list[Any]:
    """Insert each of the others before the first patched item that follows it in the live object."""
    woven: list[Any] = []
    left = iter(others)
    waiting = next(left, None)
    for item in patched:
        while waiting is not None and 0 <= place(waiting) < place(item):
            woven.append(waiting)
            waiting = next(left, None)
        woven.append(item)
    return woven if waiting is None else [*woven, waiting, *left]


def _index_by_identity(items: list[Any], merge_key: str) -> dict[Any, int]:
    """Return the index of each item by its identity; the first one if there are several."""
    places: dict[Any, int] = {}
    for index, item in enumerate(items):
        places.setdefault(element_identity(item, merge_key), index)
    return places


def element_identity(item: Any, merge_key: str) -> Any:
    """Return the value of an object's merge key, or the scalar itself."""
    if merge_key:
        _expect_object(item)
        if merge_key not in item:
            raise PatchFailed(f"map: {format_go_value(item)} does not contain declared merge key: {merge_key}")
    value = item[merge_key] if merge_key else item
    if isinstance(value, dict | list):
        # Upstream panics here, which a client also sees as a 500.
        raise PatchFailed(f"runtime error: comparing uncomparable type {go_type_name(value)}")
    return value


def _directive(item: Any, merge_key: str) -> Any:
    if merge_key:
        _expect_object(item)
    return item.get(DIRECTIVE) if isinstance(item, dict) else None


def _expect_object(item: Any) -> None:
    if not isinstance(item, dict):
        raise PatchFailed(f"expected a map[string]interface {{}}, but received a {go_type_name(item)}")
