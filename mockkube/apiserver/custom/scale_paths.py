"""Read, write and validate the values of a custom resource's scale at the paths in its CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/{etcd,validator}.go

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject

Paths = Mapping[str, str]
_REPLICAS_MAX: Final = 2**31 - 1
_GO_TYPES: Final = ((bool, "bool"), (str, "string"), (int, "int64"), (float, "float64"), (list, "[]interface {}"))


class ScalePathError(ValueError):
    """Error for a value that does not fit a scale; the text is upstream's."""


def split_path(path: str) -> list[str]:
    """Return the field names of a path."""
    return path.removeprefix(".").split(".")


def read_replicas(obj: ReadOnlyObject, path: str) -> int | None:
    """Return the number at a path; None if there is nothing. Raise ScalePathError."""
    found = _find(obj, split_path(path))
    if found is _ABSENT:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise ScalePathError(_type_error_text(split_path(path), found, "int64"))
    return found


def read_text(obj: ReadOnlyObject, path: str) -> str:
    """Return the string at a path; empty if there is nothing. Raise ScalePathError."""
    found = _find(obj, split_path(path))
    if found is _ABSENT:
        return ""
    if not isinstance(found, str):
        raise ScalePathError(_type_error_text(split_path(path), found, "string"))
    return found


def with_replicas(obj: ReadOnlyObject, path: str, replicas: int) -> Object:
    """Return the object with this number at the path."""
    return _set_at(obj, split_path(path), replicas)


_ABSENT: Final = object()


def _find(obj: ReadOnlyObject, names: list[str]) -> Any:
    found: Any = obj
    for index, name in enumerate(names):
        if not isinstance(found, Mapping):
            raise ScalePathError(_type_error_text(names[: index + 1], found, "map[string]interface{}"))
        if name not in found:
            return _ABSENT
        found = found[name]
    return found


def _set_at(obj: ReadOnlyObject, names: list[str], value: int) -> Object:
    if len(names) == 1:
        return {**obj, names[0]: value}
    inner = obj.get(names[0], {})
    return {**obj, names[0]: _set_at(inner if isinstance(inner, Mapping) else {}, names[1:], value)}


def _type_error_text(names: list[str], value: Any, wanted: str) -> str:
    kind = next((name for python, name in _GO_TYPES if isinstance(value, python)), "map[string]interface {}")
    kind = "<nil>" if value is None else kind
    shown = "<nil>" if value is None else value
    return f".{'.'.join(names)} accessor error: {shown} is of the type {kind}, expected {wanted}"


def validate_scale(obj: ReadOnlyObject, paths: Paths, *, status_only: bool = False) -> Iterator[FieldError]:
    """Validate the replicas and the selector at their paths."""
    if not status_only:
        yield from _validate_replicas(obj, paths["specReplicasPath"])
    yield from _validate_replicas(obj, paths["statusReplicasPath"])
    if path := paths.get("labelSelectorPath"):
        try:
            read_text(obj, path)
        except ScalePathError as error:
            yield invalid(path, "", str(error))


def _validate_replicas(obj: ReadOnlyObject, path: str) -> Iterator[FieldError]:
    try:
        replicas = read_replicas(obj, path) or 0
    except ScalePathError as error:
        yield invalid(path, 0, str(error))
        return
    if replicas < 0:
        yield invalid(path, replicas, "should be a non-negative integer")
    elif replicas > _REPLICAS_MAX:
        yield invalid(path, replicas, f"should be less than or equal to {_REPLICAS_MAX}")
