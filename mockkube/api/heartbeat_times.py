"""Times that heartbeats set: where they are in an object, and equality of objects but for them.

Nodes renew the `renewTime` of a Lease, and the `lastHeartbeatTime` of their conditions, again and again. A strategy
declares such fields, and promises that nothing else in an update depends on them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, Union

from mockkube.api.json_objects import ReadOnlyObject

# Function that returns the canonical text of a time, or raises ValueError or TypeError.
Canonicalize = Callable[[Any], str]
# Fields with times, by name: a field is a time, or an object or a list that contains times.
HeartbeatTimes = Mapping[str, Union[Canonicalize, "ItemTimes", "HeartbeatTimes"]]
# Numbers of the times in a value, and places within its parts, by name in objects and by index in lists.
Places = dict[Any, Any]
# Names on the way to a time; items of a list are named by their key.
TimePath = tuple[Any, ...]

_NOWHERE: Final[Places] = {}


class ItemTimes(NamedTuple):
    """Times in the items of a list whose items have a key."""

    key: str
    times: HeartbeatTimes


class AmbiguousItems(Exception):
    """Items of a list have the same key, or none."""


def find_times(value: Any, declared: HeartbeatTimes, path: TimePath = ()) -> dict[TimePath, Canonicalize]:
    """Return the times that a value has; raise AmbiguousItems."""
    found: dict[TimePath, Canonicalize] = {}
    for name, below in declared.items():
        one, there = value.get(name) if isinstance(value, dict) else None, (*path, name)
        if isinstance(below, ItemTimes):
            for key, item in _by_key(one, below.key).items():
                found |= find_times(item, below.times, (*there, key))
        elif isinstance(below, Mapping):
            found |= find_times(one, below, there)
        elif one is not None:
            found[there] = below
    return found


def find_places(value: Any, declared: HeartbeatTimes, numbers: Mapping[TimePath, int], path: TimePath = ()) -> Places:
    """Return where a value has the numbered times; raise AmbiguousItems."""
    places: Places = {}
    for name, below in declared.items():
        one, there = value.get(name) if isinstance(value, dict) else None, (*path, name)
        if isinstance(below, ItemTimes):
            items = [
                find_places(item, below.times, numbers, (*there, key)) for key, item in _by_key(one, below.key).items()
            ]
            found: Places = {index: place for index, place in enumerate(items) if place}
        elif isinstance(below, Mapping):
            found = find_places(one, below, numbers, there)
        else:
            if one is not None and there in numbers:
                places[name] = numbers[there]
            continue
        if found:
            places[name] = found
    return places


def _by_key(items: Any, key: str) -> dict[Any, ReadOnlyObject]:
    """Return the items of a list by their keys, in order."""
    if not isinstance(items, list):
        return {}
    found = {str(item.get(key)) if isinstance(item, dict) else None: item for item in items}
    if len(found) < len(items) or None in found:
        raise AmbiguousItems
    return found


def take_times(value: Any, expected: Any, places: Places, times: list[Any]) -> bool:  # hot: per heartbeat
    """Put the times of a value into a list; return whether the rest of the value is as expected."""
    kind = value.__class__
    # Scalars of different types are different JSON, although Python finds True equal to 1.
    if kind is not expected.__class__:
        return False
    if kind is dict:
        pairs = zip(value.items(), expected.items(), strict=False)
    elif kind is list:
        pairs = zip(enumerate(value), enumerate(expected), strict=False)
    else:
        return not places and bool(value == expected)
    if len(value) != len(expected):
        return False
    for (name, one), (same_name, other) in pairs:
        if name != same_name:  # fields are stored in the order in which they come
            return False
        if name not in places:
            if one is not other and not take_times(one, other, _NOWHERE, times):
                return False
        elif (place := places[name]).__class__ is int:
            times[place] = one
        elif not take_times(one, other, place, times):
            return False
    return True


def with_times(value: Any, places: Places, times: Sequence[str]) -> Any:  # hot: per heartbeat
    """Return a copy of a value with other times; it shares what has none."""
    copied = value.copy()
    for name, place in places.items():
        copied[name] = times[place] if place.__class__ is int else with_times(value[name], place, times)
    return copied


@lru_cache(maxsize=256)
def _is_canonical(text: str, canonicalize: Canonicalize) -> bool:
    try:
        return canonicalize(text) == text
    except ValueError:
        return False


def are_canonical(times: Sequence[Any], formats: Sequence[Canonicalize]) -> bool:
    """Return whether all times are texts as they are stored."""
    return all(one.__class__ is str and _is_canonical(one, form) for one, form in zip(times, formats, strict=True))
