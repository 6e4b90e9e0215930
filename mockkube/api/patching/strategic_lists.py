"""The lists of a strategic merge patch: what kind they are, which items it deletes, in which order they end up.

Three orders meet: what `$setElementOrder` says wins over the order of the patch, and that over the order of the
live object, which only decides where the items go that the patch does not mention.
"""

# upstream 1.36: apimachinery/pkg/util/strategicpatch/patch.go

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from mockkube.api.patching.errors import PatchFailed, PatchRejected
from mockkube.api.patching.gotext import go_type, printed
from mockkube.api.types import ReadOnlyObject

DIRECTIVE: Final = "$patch"


def element_kind(*lists: list[Any]) -> type:
    """Return the type all items of the lists have; raise if they differ, are lists, or there are none."""
    items = [item for each in lists for item in each]
    if not items:
        raise PatchFailed("no elements in any of the given slices")
    kind = type(items[0])
    if kind is list:
        raise PatchRejected("lists of lists are not supported")
    if kind is type(None) or any(type(item) is not kind for item in items):
        raise PatchFailed(f"list element types are not identical: {printed(list(lists))}")
    return kind


def merge_scalars(original: list[Any], patch: list[Any]) -> list[Any]:
    """Return the union of two lists of plain values."""
    return reorder(list(dict.fromkeys([*original, *patch])), patch, original, "")


def split_special(
    original: list[Any], patch: list[Any], merge_key: str
) -> tuple[list[ReadOnlyObject], list[ReadOnlyObject]]:
    """Carry out the items of the patch that have a directive; return what stays of the original, and of the patch."""
    unwanted, changes, replace = set[Any](), [], False
    for item in patch:
        match item.get(DIRECTIVE):
            case None:
                changes.append(item)
            case "delete":
                unwanted.add(identity(item, merge_key))
            case "replace":
                replace = True
            case "merge":
                raise PatchFailed("merging lists cannot yet be specified in the patch")
            case other:
                raise PatchFailed(f"unknown patch type: {printed(other)} in map: {printed(item)}")
    if replace:
        return changes, []
    if not unwanted:
        return original, changes
    return [one for one in original if not is_among(one.get(merge_key), unwanted)], changes


def is_among(value: Any, plain: Collection[Any]) -> bool:
    """Return whether a value is in a set of plain values; objects and lists never are."""
    return value.__class__ not in (dict, list) and value in plain


def check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Raise unless the items of the patch stand in the order that it prescribes itself, none left out."""
    if not patch or not order:
        return
    awaited = [item for item in patch if not (merge_key and _directive(item, merge_key) == "delete")]
    at = passed = 0
    while at < len(awaited) and passed < len(order):
        if _directive(awaited[at], "") is not None:
            at += 1
        else:
            at += identity(awaited[at], merge_key) == identity(order[passed], merge_key)
            passed += 1
    if at < len(awaited):
        raise PatchFailed(
            f"The order in patch list:\n{printed(patch)}\n doesn't match $setElementOrder list:\n{printed(order)}\n"
        )


def live_order(original: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """Return the order of the live object as upstream sees it, once deleted items have made room for new ones.

    It works in place: what is deleted frees places behind the last item, and the first of the items that are
    appended take them. With `$setElementOrder` these count as items of the live object.
    """
    if not merge_key:
        return original
    kept, changes = split_special(original, patch, merge_key)
    known = _places(kept, merge_key)
    new = [item for item in changes if identity(item, merge_key) not in known]
    return [*kept, *new][: len(original)]


def reorder(merged: Sequence[Any], order: list[Any], live_order: list[Any], merge_key: str) -> list[Any]:
    """Sort the items named in `order` by it, the others by `live_order`, and weave the two together."""
    named, live = _places(order, merge_key), _places(live_order, merge_key)
    patched = [item for item in merged if identity(item, merge_key) in named]
    others = [item for item in merged if identity(item, merge_key) not in named]
    patched.sort(key=lambda item: named[identity(item, merge_key)])
    others.sort(key=lambda item: live.get(identity(item, merge_key), -1))
    return _weave(others, patched, lambda item: live.get(identity(item, merge_key), -1))


def _weave(others: list[Any], patched: list[Any], place: Callable[[Any], int]) -> list[Any]:
    """Put each of the others before the first patched item that the live object has behind it."""
    woven: list[Any] = []
    left = iter(others)
    waiting = next(left, None)
    for item in patched:
        while waiting is not None and 0 <= place(waiting) < place(item):
            woven.append(waiting)
            waiting = next(left, None)
        woven.append(item)
    return woven if waiting is None else [*woven, waiting, *left]


def _places(items: list[Any], merge_key: str) -> dict[Any, int]:
    """Map what identifies the items to where they stand, the first place if there are several."""
    places: dict[Any, int] = {}
    for index, item in enumerate(items):
        places.setdefault(identity(item, merge_key), index)
    return places


def identity(item: Any, merge_key: str) -> Any:
    """Return the value of an object's merge key, or the plain value itself."""
    if merge_key:
        _expect_object(item)
        if merge_key not in item:
            raise PatchFailed(f"map: {printed(item)} does not contain declared merge key: {merge_key}")
    value = item[merge_key] if merge_key else item
    if isinstance(value, dict | list):
        # Upstream panics here, which a client also sees as a 500.
        raise PatchFailed(f"runtime error: comparing uncomparable type {go_type(value)}")
    return value


def _directive(item: Any, merge_key: str) -> Any:
    if merge_key:
        _expect_object(item)
    return item.get(DIRECTIVE) if isinstance(item, dict) else None


def _expect_object(item: Any) -> None:
    if not isinstance(item, dict):
        raise PatchFailed(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
