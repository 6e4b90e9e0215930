"""Validate that a value fits its type, with the texts of upstream's structured-merge-diff."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/validate.go

import json
from collections.abc import Iterator
from typing import Any

from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.field_set import Path, format_path, make_field_element
from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.types import ListType, MapType, Scalar, Type
from mockkube.api.patching.go_formatting import format_go_value, go_type_name
from mockkube.lazy_dataclasses import dataclass


def validate_value(value: Any, expected: Type, *, allow_duplicates: bool = False) -> None:
    """Raise TypeMismatch with all errors of a value."""
    found = [
        f"{format_path(path)}: {text}" if path else text
        for path, text in _Validator(allow_duplicates).validate(value, expected)
    ]
    if found:
        raise TypeMismatch(found[0] if len(found) == 1 else "\n".join(("errors:", *(f"  {one}" for one in found))))


_Errors = Iterator[tuple[Path, str]]


@dataclass(frozen=True, slots=True)
class _Validator:
    allow_duplicates: bool

    def validate(self, value: Any, expected: Type, path: Path = ()) -> _Errors:
        match expected.form(value):
            case MapType() as form:
                if isinstance(value, dict):
                    yield from self._validate_map(value, form, path)
                elif value is not None:
                    yield path, f"expected map, got &{{{format_go_value(value)}}}"
            case ListType() as form:
                if isinstance(value, list):
                    yield from self._validate_list(value, form, path)
                elif value is not None:
                    yield path, f"expected list, got &{{{format_go_value(value)}}}"
            case Scalar() as scalar:
                message = _find_scalar_error(value, scalar)
                if message:
                    yield path, message

    def _validate_map(self, value: dict[str, Any], form: MapType, path: Path) -> _Errors:
        for name in sorted(value):
            expected = form.type_of(name)
            if expected is None:
                # Upstream stops at the first unknown field of a map.
                yield (*path, make_field_element(name)), "field not declared in schema"
                return
            yield from self.validate(value[name], expected, (*path, make_field_element(name)))

    def _validate_list(self, value: list[Any], form: ListType, path: Path) -> _Errors:
        seen: set[str] = set()
        for index, item in enumerate(value):
            element = f"i:{index}"
            if not form.atomic:
                try:
                    element = make_item_element(form, item)
                except TypeMismatch as error:
                    yield path, f"element {index}: {error}"
                    return
                if element in seen and not self.allow_duplicates:
                    yield path, f"duplicate entries for key {format_path((element,))}"
                seen.add(element)
            yield from self.validate(item, form.element, (*path, element))


def _find_scalar_error(value: Any, scalar: Scalar) -> str:
    if value is None:
        return ""
    is_bool = isinstance(value, bool)
    is_number = isinstance(value, int | float) and not is_bool
    match scalar:
        case Scalar.NUMERIC:
            return "" if is_number else f"expected numeric (int or float), got {go_type_name(value)}"
        case Scalar.STRING:
            fits = isinstance(value, str)
            return "" if fits else f"expected string, got &value.valueUnstructured{{Value:{_format_go_syntax(value)}}}"
        case Scalar.BOOLEAN:
            return "" if is_bool else f"expected boolean, got &{{{format_go_value(value)}}}"
        case Scalar.UNTYPED:
            fits = is_bool or is_number or isinstance(value, str)
            return "" if fits else f"expected any scalar, got &{{{format_go_value(value)}}}"


def _format_go_syntax(value: Any) -> str:
    """Format a value as Go source (`%#v`)."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            inner = ", ".join(f"{json.dumps(key)}:{_format_go_syntax(value[key])}" for key in sorted(value))
            return f"{go_type_name(value)}{{{inner}}}"
        case list():
            return f"{go_type_name(value)}{{{', '.join(map(_format_go_syntax, value))}}}"
        case None:
            return "interface {}(nil)"
        case _:
            return format_go_value(value)
