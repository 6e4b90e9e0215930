"""Values that decoded objects have in common, kept once: tolerations, conditions, images, names of nodes.

Decoded objects are read only, so they can share every equal part. Most parts of the pods of a workload are equal.
"""

from typing import Any, Final

import orjson

# Values after which all are forgotten; a value that is still common is soon known again.
VALUES_MAX: Final = 2048
# Objects after which all are forgotten if most of these objects are gone by now, as most values are gone with them.
OBJECTS_MIN: Final = 128
# Longer parts are not known by their JSON, which would take more memory than it saves.
_PART_BYTES_MAX: Final = 4096
# Fields that no two objects have in common.
_UNIQUE_FIELDS: Final = frozenset(("name", "resourceVersion", "uid"))


class SharedValues:
    """Values found in decoded objects, to be used in place of equal ones in others."""

    def __init__(self) -> None:
        # Strings and integers, not Booleans or floats, which are equal to integers.
        self._scalars: dict[str | int, str | int] = {}
        # By their keys and the identities of their values, which are shared already. Identities tell True from 1.
        self._dicts: dict[tuple[object, ...], dict[str, Any]] = {}
        self._lists: dict[tuple[int, ...], list[Any]] = {}
        # Containers, tolerations and the like by their JSON: finding one again takes a tenth of the time of a walk.
        self._parts: dict[bytes, Any] = {}
        # Number of objects whose values are known.
        self._objects = 0

    def __len__(self) -> int:
        return len(self._scalars) + len(self._dicts) + len(self._lists) + len(self._parts)

    def share_within(self, obj: dict[str, Any], current: int, *, without_spec: bool = False) -> None:
        """Replace parts of a decoded object by equal ones found before; `current` is how many objects there are."""
        if len(self) > VALUES_MAX or self._objects >= 2 * current + OBJECTS_MIN:
            # All at once: a shared value is only found by the identities of values that are shared, too.
            self._scalars, self._dicts, self._lists, self._parts, self._objects = {}, {}, {}, {}, 0
        self._objects += 1
        for name, value in obj.items():
            if without_spec and name == "spec":
                continue
            if value.__class__ is dict:
                self._share_parts(value)
                obj[name] = self._dicts.setdefault((*value, *map(id, value.values())), value)
            else:
                obj[name] = self._share(value)

    def _share_parts(self, section: dict[str, Any]) -> None:  # hot: per object that stays decoded
        """Share the values of a section: metadata, spec or status."""
        scalars, parts = self._scalars, self._parts
        for name, value in section.items():
            if name in _UNIQUE_FIELDS:
                continue
            kind = value.__class__
            if kind is str or kind is int:
                section[name] = scalars.setdefault(value, value)
            elif kind is dict or kind is list:
                text = orjson.dumps(value)
                known = parts.get(text)
                if known is None:
                    known = self._share(value)
                    if len(text) <= _PART_BYTES_MAX:
                        parts[text] = known
                section[name] = known

    def _share_values(self, parent: dict[str, Any]) -> None:
        scalars = self._scalars
        for name, value in parent.items():
            kind = value.__class__
            if kind is str or kind is int:
                parent[name] = scalars.setdefault(value, value)
            elif kind is dict or kind is list:
                parent[name] = self._share(value)

    def _share(self, value: Any) -> Any:
        kind = value.__class__
        if kind is dict:
            self._share_values(value)
            return self._dicts.setdefault((*value, *map(id, value.values())), value)
        if kind is not list:
            return self._scalars.setdefault(value, value) if kind is str or kind is int else value
        for index, item in enumerate(value):
            kind = item.__class__
            if kind is str or kind is int:
                value[index] = self._scalars.setdefault(item, item)
            elif kind is dict or kind is list:
                value[index] = self._share(item)
        return self._lists.setdefault(tuple(map(id, value)), value)
