"""JSON patches (RFC 6902), as lenient as evanphx/json-patch.

`parse_operations` checks the form of a patch, `apply` applies it. The given document is never changed: containers on
the path to a change are copied, once, and the rest is shared.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching.errors import BadPatch, PatchRejected, TestFailed, TooManyOperations
from mockkube.api.patching.go_formatting import json_kind_name

OPERATIONS_MAX: Final = 10_000
# Maximum size of the JSON that all copies of one patch may add. upstream 1.36: apiserver/pkg/server/config.go
COPIED_BYTES_MAX: Final = 3 * 1024 * 1024

_FIELDS: Final = ("op", "path", "from", "value")
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


def parse_operations(patch: Any, *, typed: bool = True) -> list[ReadOnlyObject]:
    """Return the operations of a decoded patch; raise BadPatch or TooManyOperations.

    `typed` is the decoding of a request with field validation; one that ignores it is decoded more leniently.
    """
    # upstream 1.36: apiserver/pkg/endpoints/handlers/patch.go
    names = ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp") if typed else ("jsonpatch.Patch", "jsonpatch.Operation")
    prefix = "error decoding patch: " if typed else ""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise BadPatch(f"{prefix}{BadPatch.wrong_type(patch, names[0])}")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise BadPatch(f"{prefix}{BadPatch.wrong_type(operation, names[1])}")
        if typed:
            _check_string_fields(operation or {})
    if len(patch) > OPERATIONS_MAX:
        raise TooManyOperations(len(patch), OPERATIONS_MAX)
    return [operation or {} for operation in patch]


def find_unknown_fields(operations: Sequence[ReadOnlyObject]) -> list[str]:
    """Return upstream's errors for fields that no operation has."""
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        for name in operation
        if name not in _FIELDS
    ]


def apply(doc: ReadOnlyObject, operations: Sequence[ReadOnlyObject]) -> Any:
    """Return the patched document, which may be any JSON value; raise PatchRejected."""
    try:
        return _apply_operations(_Document(doc), operations)
    except (RecursionError, orjson.JSONEncodeError) as error:
        raise PatchRejected("the operations nest the document too deeply") from error


def _apply_operations(target: "_Document", operations: Sequence[ReadOnlyObject]) -> Any:
    for operation in operations:
        match operation.get("op"):
            case "add":
                target.add(_get_string(operation, "path"), operation.get("value"))
            case "remove":
                target.remove(_get_string(operation, "path"))
            case "replace":
                target.replace(_get_string(operation, "path"), operation.get("value"))
            case "move":
                target.move(_get_string(operation, "from"), operation)
            case "copy":
                target.copy(_get_string(operation, "from"), _get_string(operation, "path"))
            case "test":
                target.test(_get_string(operation, "path"), operation.get("value"))
            case unknown:
                raise PatchRejected(f"Unexpected kind: {unknown or 'unknown'}")
    return target.root


def _check_string_fields(operation: ReadOnlyObject) -> None:
    for name in _FIELDS[:-1]:
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            place = f"Go struct field jsonPatchOp.{name} of type string"
            raise BadPatch(f"error decoding patch: json: cannot unmarshal {json_kind_name(value)} into {place}")


def _get_string(operation: ReadOnlyObject, name: str) -> str:
    value = operation.get(name)
    if not isinstance(value, str):
        raise PatchRejected(f"the operation has no {name}")
    return value


class _MissingPath(PatchRejected):
    """Path of an operation at which there is nothing to change."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}: missing value")


@contextmanager
def _error_context(what: str) -> Iterator[None]:
    """Prefix the error of an operation with what it is about."""
    try:
        yield
    except _MissingPath:
        raise
    except PatchRejected as error:
        raise PatchRejected(f"{what}: {error}") from error


class _Document:
    """Document that is being patched: containers of the original are copied before they are changed."""

    def __init__(self, root: ReadOnlyObject) -> None:
        self.root: Any = root
        self._own_containers: dict[int, Any] = {}
        self._copied_bytes = 0

    def add(self, path: str, value: Any) -> None:
        container, key = self._find_container(
            path, f'add operation does not apply: doc is missing path: "{path}"', change=True
        )
        if isinstance(container, dict):
            container[key] = value
            return
        with _error_context(f"error in add for path: '{path}'"):
            container.insert(_parse_insert_index(container, key), value)

    def remove(self, path: str) -> Any:
        missing = f'remove operation does not apply: doc is missing path: "{path}"'
        with _error_context(f"error in remove for path: '{path}'"):
            return self._remove_value(path, missing)

    def _remove_value(self, path: str, missing: str) -> Any:
        container, key = self._find_container(path, missing, change=True)
        if isinstance(container, list):
            return container.pop(_parse_index(container, key))
        if key not in container:
            raise PatchRejected(f"Unable to remove nonexistent key: {key}: missing value")
        return container.pop(key)

    def replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchRejected("the whole document can only be replaced by an object or a list")
            self.root = value
            return
        missing = f"replace operation does not apply: doc is missing path: {path}"
        container, key = self._find_container(path, missing, change=True)
        # evanphx/json-patch adds a key that is missing, although the RFC demands that it exists.
        container[_parse_index(container, key) if isinstance(container, list) else key] = value

    def move(self, source: str, operation: ReadOnlyObject) -> None:
        with _error_context(f"error in move for path: '{source.rpartition('/')[2]}'"):
            value = self._remove_value(source, f"move operation does not apply: doc is missing from path: {source}")
        self.add(_get_string(operation, "path"), value)

    def copy(self, source: str, path: str) -> None:
        missing = f"copy operation does not apply: doc is missing from path: {source}"
        # A missing key is copied as null. The copy is deep: later operations may change one of the two.
        value = self._get(source, missing)
        if value is not None:
            text = orjson.dumps(value)
            self._count_copied_bytes(text)
            value = orjson.loads(text)
        self.add(path, value)

    def _count_copied_bytes(self, text: bytes) -> None:
        """Add to the size of all copies; raise PatchRejected once it exceeds the limit."""
        # The limit counts Go's encoding, which escapes these three characters with six bytes each.
        self._copied_bytes += len(text) + 5 * sum(text.count(char) for char in (b"<", b">", b"&"))
        if self._copied_bytes > COPIED_BYTES_MAX:
            size = f"the accumulated size increase of copy is {self._copied_bytes}"
            raise PatchRejected(f"Unable to complete the copy, {size}, exceeding the limit {COPIED_BYTES_MAX}")

    def test(self, path: str, value: Any) -> None:
        missing = f"test operation does not apply: is missing path: {path}"
        found = self.root if path == "" else self._get(path, missing)
        if not _equal(found, value):
            raise TestFailed(f"testing value {path} failed: test failed")

    def _get(self, path: str, missing: str) -> Any:
        container, key = self._find_container(path, missing)
        return container[_parse_index(container, key)] if isinstance(container, list) else container.get(key)

    def _find_container(self, path: str, missing: str, *, change: bool = False) -> tuple[Any, str]:
        """Return the container that holds the last part of a path, and that part.

        With `change` it is a copy of ours. If there is none, the error text is `missing`.
        """
        # upstream ignores everything before the first slash.
        _, *parts = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/"))
        if not parts:
            raise _MissingPath(missing)
        if change:
            self.root = self._copy_once(self.root)
        container = self.root
        try:
            for part in parts[:-1]:
                container = self._descend(container, part, change=change)
        except PatchRejected as error:
            raise _MissingPath(missing) from error
        if not isinstance(container, dict | list):
            raise _MissingPath(missing)
        return container, parts[-1]

    def _descend(self, container: Any, part: str, *, change: bool) -> Any:
        key = _parse_index(container, part) if isinstance(container, list) else part
        if isinstance(container, dict) and key not in container:
            raise PatchRejected(f"no such key: {part}")
        child = container[key]
        if not isinstance(child, dict | list):
            raise PatchRejected(f"not a container: {part}")
        if change:
            child = container[key] = self._copy_once(child)
        return child

    def _copy_once(self, container: Any) -> Any:
        if id(container) in self._own_containers:
            return container
        owned = container.copy()
        # The copy is kept as well as its id: Python could give the id of a freed one to another container.
        self._own_containers[id(owned)] = owned
        return owned


def _parse_index(items: list[Any], key: str) -> int:
    """Return the index of an existing item; a negative index counts from the end."""
    index = _parse_integer(key)
    if not -len(items) <= index < len(items):
        raise PatchRejected(f"Unable to access invalid index: {index}: invalid index referenced")
    return index


def _parse_insert_index(items: list[Any], key: str) -> int:
    """Return the index before which an item is inserted; `-` and -1 are the end."""
    if key == "-":
        return len(items)
    index = _parse_integer(key)
    if not -len(items) - 1 <= index <= len(items):
        raise PatchRejected(f"Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + len(items) + 1


def _parse_integer(key: str) -> int:
    if not _INDEX.fullmatch(key):
        raise PatchRejected(f'strconv.Atoi: parsing "{key}": invalid syntax')
    return int(key)


def _equal(found: Any, value: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, nor is 1.0. Stops at the first difference."""
    kind = found.__class__
    if kind is not value.__class__:
        return False
    if kind is dict:
        return len(found) == len(value) and all(key in value and _equal(one, value[key]) for key, one in found.items())
    if kind is list:
        return len(found) == len(value) and all(map(_equal, found, value))
    return bool(found == value)
