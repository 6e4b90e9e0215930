"""Strategic merge patches: objects are merged by the rules of their type, lists by key if the type has one.

A patch is merged into an object field by field. Directives control it: `$patch: replace|delete`, `$retainKeys`,
`$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`. How lists are merged is in `strategic_lists`.
"""

# upstream 1.36: apimachinery/pkg/util/strategicpatch/patch.go

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.errors import BadPatch, PatchFailed
from mockkube.api.patching.go_formatting import format_go_value, go_type_name
from mockkube.api.patching.merge_patch import drop_nulls
from mockkube.api.patching.strategic_lists import (
    DIRECTIVE,
    element_identity,
    live_element_order,
    merge_scalars,
    normalize_element_order,
    slice_element_type,
    split_special_elements,
    validate_set_element_order,
)

_DELETE_PREFIX: Final = "$deleteFromPrimitiveList"
_ORDER_PREFIX: Final = "$setElementOrder"
_RETAIN_KEYS: Final = "$retainKeys"


class PatchField(Protocol):
    """Field of a type, as merging needs it; `mockkube.api.schema.TypeField` is one."""

    @property
    def node(self) -> "PatchSchema":
        """Type of the field's value."""

    @property
    def patch_strategy(self) -> str:
        """`merge`, `replace`, `retainKeys`, comma separated; empty if the type has none."""

    @property
    def merge_key(self) -> str:
        """Key by which the items of a list are matched; empty if there is none."""


class PatchSchema(Protocol):
    """Type of a value, as merging needs it; `mockkube.api.schema.TypeNode` is one."""

    @property
    def go(self) -> str:
        """Go name of the type, for messages."""

    @property
    def fields(self) -> Mapping[str, PatchField]:
        """Fields of a struct."""

    @property
    def item(self) -> "PatchSchema | None":
        """Type of the values of a list or map."""


def apply(doc: ReadOnlyObject, patch: Any, schema: PatchSchema) -> Object:
    """Return the patched document; raise BadPatch or PatchFailed."""
    if patch is None:
        return dict(doc)
    if not isinstance(patch, dict):
        raise BadPatch.wrong_type(patch, "map[string]interface {}")
    return _merge_map(doc, patch, schema)


def _merge_map(original: ReadOnlyObject, patch: ReadOnlyObject, schema: PatchSchema | None) -> Object:
    if DIRECTIVE in patch:
        return _apply_directive(patch)
    if _has_directives(patch):
        merged, patch = _retain_keys(original, patch)
        patch = _merge_lists_in_order(merged, patch, schema)
    else:
        merged = dict(original)
    for key, value in patch.items():
        if key.startswith(_DELETE_PREFIX):
            _delete_scalars(merged, key, value)
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_field(merged, key, value, schema)
    return merged


def _has_directives(patch: ReadOnlyObject) -> bool:
    """Return whether a key may be a directive."""
    return "$" in "".join(patch)  # faster than looking at each key


def _apply_directive(patch: ReadOnlyObject) -> Object:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise PatchFailed(f"unknown patch type: {format_go_value(other)} in map: {format_go_value(patch)}")


def _retain_keys(original: ReadOnlyObject, patch: ReadOnlyObject) -> tuple[Object, Object]:
    """Return copies of both, without the fields that `$retainKeys` drops, and without the directive."""
    merged, patch = dict(original), dict(patch)
    if _RETAIN_KEYS not in patch:
        return merged, patch
    retained = patch.pop(_RETAIN_KEYS)
    if not isinstance(retained, list):
        raise BadPatch("invalid patch format of retainKeys")
    names = {one for one in retained if isinstance(one, str)}
    if not all(
        value is None or key in names or key.startswith((_DELETE_PREFIX, _ORDER_PREFIX)) for key, value in patch.items()
    ):
        raise BadPatch("invalid patch format of retainKeys")
    return {key: value for key, value in merged.items() if key in names}, patch


def _merge_lists_in_order(merged: Object, patch: ReadOnlyObject, schema: PatchSchema | None) -> Object:
    """Merge the lists whose order the patch prescribes; return the rest of the patch."""
    left = {key: value for key, value in patch.items() if not key.startswith(_ORDER_PREFIX)}
    for key, order in patch.items():
        if not key.startswith(_ORDER_PREFIX):
            continue
        _expect_list(order)
        name = _field_of_directive(key, _ORDER_PREFIX, "setElementOrder list")
        for holder in (merged, left):
            if name in holder:
                _expect_list(holder[name])
        _merge_list_in_order(merged, left, name, order, schema)
        left.pop(name, None)
    return left


def _merge_list_in_order(
    merged: Object, patch: ReadOnlyObject, name: str, order: list[Any], schema: PatchSchema | None
) -> None:
    field = _lookup_field(schema, name)
    original: list[Any] | None = merged.get(name)
    changes: list[Any] | None = patch.get(name)
    validate_set_element_order(changes or [], order, field.merge_key)
    if original is None and changes is None:
        return
    if original is None:
        # A list that the object does not have yet is added, not merged: its directives have nothing to act on.
        result = _remove_directives(changes)
    else:
        result = original if changes is None else _merge_list(original, changes, field)
    slice_element_type(original or [], changes or [])
    live = live_element_order(original or [], changes or [], field.merge_key)
    merged[name] = normalize_element_order(result, order, live, field.merge_key)


def _delete_scalars(merged: Object, key: str, unwanted: Any) -> None:
    name = _field_of_directive(key, _DELETE_PREFIX, "primitive list") or key
    if unwanted is None:
        merged.pop(name, None)
    elif isinstance(merged.get(name), list) and isinstance(unwanted, list):
        original = merged[name]
        if (original or unwanted) and slice_element_type(original, unwanted) is dict:
            # Upstream panics here, which a client also sees as a 500.
            raise PatchFailed(f"runtime error: hash of unhashable type {go_type_name({})}")
        names = set(unwanted)
        merged[name] = [item for item in original if item not in names]


def _merge_field(merged: Object, key: str, value: Any, schema: PatchSchema | None) -> None:
    original = merged.get(key)
    if isinstance(original, dict) and isinstance(value, dict):
        field = _lookup_field(schema, key)
        replaces = _merge_strategy(field) == "replace"
        merged[key] = value if replaces else _merge_map(original, value, field.node)
    elif isinstance(original, list) and isinstance(value, list):
        merged[key] = _merge_list(original, value, _lookup_field(schema, key))
    elif isinstance(value, dict) and DIRECTIVE in value:
        merged.pop(key, None)
    else:
        merged[key] = _remove_directives(drop_nulls(value))


def _merge_list(original: list[Any], patch: list[Any], field: PatchField) -> list[Any]:
    if _merge_strategy(field) != "merge":
        return patch
    if not original and not patch:
        return original
    if slice_element_type(original, patch) is not dict:
        return merge_scalars(original, patch)
    if not field.merge_key:
        raise PatchFailed("cannot merge lists without merge key for struct")
    kept, changes = split_special_elements(original, patch, field.merge_key)
    merged = _merge_items(kept, changes, field)
    return normalize_element_order(merged, changes, kept, field.merge_key)


def _merge_items(kept: Sequence[ReadOnlyObject], changes: Sequence[ReadOnlyObject], field: PatchField) -> list[Any]:
    """Merge each change into the first item with its key, or append it."""
    # Items are looked up by key: searching the list for each change would be quadratic.
    merged, positions = list(kept), dict[Any, int]()
    for index, item in enumerate(kept):
        if (key := item.get(field.merge_key)).__class__ not in (dict, list):
            positions.setdefault(key, index)
    for change in changes:
        index = positions.setdefault(element_identity(change, field.merge_key), len(merged))
        if index == len(merged):
            merged.append(change)
        else:
            merged[index] = _merge_map(merged[index], change, field.node.item)
    return merged


def _lookup_field(schema: PatchSchema | None, name: str) -> PatchField:
    """Return a field of a struct; raise PatchFailed for anything else, as upstream does."""
    field = schema.fields.get(name) if schema else None
    if field is None:
        if schema is None or schema.item is not None:
            raise PatchFailed("merging an object in json but data type is not struct, instead is: map")
        struct = schema.go.rpartition(".")[2]
        raise PatchFailed(f'unable to find api field in struct {struct} for the json field "{name}"')
    return field


def _merge_strategy(field: PatchField) -> str:
    """Return the strategy without `retainKeys`, which only allows clients to send that directive."""
    strategy = field.patch_strategy
    if "," not in strategy and strategy != "retainKeys":
        return strategy
    return next((one for one in strategy.split(",") if one != "retainKeys"), "")


def _field_of_directive(directive: str, prefix: str, title: str) -> str:
    """Return the field that a directive like `$setElementOrder/containers` names."""
    start, slash, name = directive.partition("/")
    if not slash or start != prefix:
        raise BadPatch(f"invalid patch format of {title}")
    return name


def _expect_list(value: Any) -> None:
    if not isinstance(value, list):
        raise PatchFailed(f"expected a []interface {{}}, but received a {go_type_name(value)}")


def _remove_directives(value: Any) -> Any:
    """Return a value without the objects that have a `$patch`, at any depth."""
    match value:
        case dict():
            return {key: _remove_directives(one) for key, one in value.items() if not _has_directive(one)}
        case list():
            return [_remove_directives(one) for one in value if not _has_directive(one)]
        case _:
            return value


def _has_directive(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value
