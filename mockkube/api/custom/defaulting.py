"""Set the defaults of a structural schema on an object."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go

from typing import Any, Final

import orjson

from mockkube.api.custom.structural import Structural
from mockkube.api.errors import StorageTooLarge

# Limit of JSON that defaults may add to one object, far above what can be stored: nested defaults grow exponentially.
ADDED_BYTES_MAX: Final = 16 * 1024 * 1024


def set_defaults(value: Any, schema: Structural) -> None:
    """Set the default of every field that is absent, or null without being nullable.

    Raise StorageTooLarge if that makes the object many times larger than can be stored.
    """
    _Defaulter().set_defaults(value, schema)


class _Defaulter:
    """Sets the defaults of one object, and counts what that adds."""

    def __init__(self) -> None:
        self._added_bytes = 0
        self._encoded_defaults: dict[int, bytes] = {}

    def _copy_default(self, schema: Structural) -> Any:
        """Return a new copy of a default."""
        text = self._encoded_defaults.get(id(schema))
        if text is None:
            text = self._encoded_defaults[id(schema)] = orjson.dumps(schema.default)
        self._added_bytes += len(text)
        if self._added_bytes > ADDED_BYTES_MAX:
            raise StorageTooLarge(self._added_bytes)
        # Parsing is the fastest deep copy here, and the text is needed for its size anyway.
        return orjson.loads(text)

    def set_defaults(self, value: Any, schema: Structural) -> None:
        """Set the defaults of a value, and those within it."""
        match value:
            case dict():
                for name, each in schema.properties.items():
                    if each.default is not None and (name not in value or each.rejects_null(value[name])):
                        value[name] = self._copy_default(each)
                for name, item in value.items():
                    child = schema.child(name)
                    if child is None:
                        continue
                    if name not in schema.properties and child.rejects_null(item):
                        item = value[name] = self._copy_default(child)
                    self.set_defaults(item, child)
            case list() if schema.items is not None:
                for index, item in enumerate(value):
                    if schema.items.rejects_null(item):
                        item = value[index] = self._copy_default(schema.items)
                    self.set_defaults(item, schema.items)
