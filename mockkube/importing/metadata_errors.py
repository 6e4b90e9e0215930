"""Errors in the metadata of objects of a dump, in the fields that an import reads."""

from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

_TEXTS: Final = ("name", "namespace", "uid", "creationTimestamp")
_MAPS: Final = ("labels", "annotations")
_OWNER_TEXTS: Final = ("apiVersion", "kind", "name", "uid")


def find_metadata_error(obj: ReadOnlyObject) -> str:
    """Return the first error in type and metadata; empty if there is none."""
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str) or not obj[name]:
            return f"{name} must be a text"
    metadata = obj["metadata"]
    for name in _TEXTS:
        if not _is_text(metadata.get(name)):
            return f"metadata.{name} must be a text"
    for name in _MAPS:
        found = metadata.get(name)
        if found is not None and not _is_map_of_texts(found):
            return f"metadata.{name} must be a map of texts"
    return "" if _are_owners(metadata.get("ownerReferences")) else "metadata.ownerReferences must be a list of owners"


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_map_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for pair in value.items() for one in pair)


def _are_owners(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(
        isinstance(one, dict) and all(isinstance(one.get(name), str) for name in _OWNER_TEXTS) for one in value
    )
