"""Fields that a user sent and the API server did not store."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

# Written by the server, or never stored as they were sent.
_NOT_KEPT: Final = frozenset({"apiVersion", "kind", "status", "stringData"})
_EMPTY: Final[tuple[Any, ...]] = (None, "", 0, False, [], {})


def find_dropped_fields(sent: ReadOnlyObject, stored: ReadOnlyObject) -> Iterator[str]:
    """Yield the paths that a sent object has and the stored one lacks."""
    for name, value in sent.items():
        if name == "metadata":
            kept = {key: value.get(key) for key in ("labels", "annotations") if value.get(key)}
            yield from _find_dropped(kept, stored.get("metadata"), "metadata")
        elif name not in _NOT_KEPT:
            yield from _find_dropped({name: value}, stored, "")


def _find_dropped(sent: Any, stored: Any, at: str) -> Iterator[str]:
    if isinstance(sent, Mapping):
        has = stored if isinstance(stored, Mapping) else {}
        for key, value in sent.items():
            path = f"{at}.{key}" if at else str(key)
            if key in has:
                yield from _find_dropped(value, has[key], path)
            elif value not in _EMPTY:
                yield path
    elif isinstance(sent, list):
        items = stored if isinstance(stored, list) else []
        for index, one in enumerate(sent):
            yield from _find_dropped(one, _find_counterpart(one, index, items), f"{at}[{index}]")


def _find_counterpart(one: Any, index: int, items: list[Any]) -> Any:
    """Return the item of the stored list that corresponds to a sent one: by name, else by index."""
    if isinstance(one, Mapping) and "name" in one:
        return next((item for item in items if isinstance(item, Mapping) and item.get("name") == one["name"]), None)
    return items[index] if index < len(items) else None
