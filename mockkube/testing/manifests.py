"""Read manifests: YAML or JSON text, files, directories, and objects."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mockkube.api.decoding import documents
from mockkube.api.json_objects import Object
from mockkube.testing.errors import ManifestError

Manifest = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]

_FILES: Final = (".json", ".yaml", ".yml")
_SEPARATOR: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
# Objects that others need: a CRD its custom resources, a namespace what is in it.
_FIRST: Final = ("CustomResourceDefinition", "Namespace")


def read_manifests(manifest: Manifest) -> list[Object]:
    """Return the objects of a manifest, CRDs and namespaces first; ManifestError if one cannot be read."""
    objects = list(_read(manifest))
    if not objects:
        raise ManifestError("the manifest contains no object")
    return sorted(objects, key=_get_rank)


def _get_rank(obj: Object) -> int:
    return _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST)


def _read(manifest: Manifest) -> Iterator[Object]:
    match manifest:
        case str() if "\n" in manifest or not os.path.exists(manifest):
            yield from _parse_text(manifest, "the manifest")
        case str() | os.PathLike():
            yield from _read_path(Path(manifest))
        case Mapping():
            yield from _list_items(manifest, "the manifest")
        case _:
            for index, obj in enumerate(manifest):
                yield from _list_items(obj, f"object {index} of the manifest")


def _read_path(path: Path) -> Iterator[Object]:
    files = sorted(file for file in path.iterdir() if file.suffix in _FILES) if path.is_dir() else [path]
    for file in files:
        try:
            text = file.read_text("utf-8")
        except OSError as error:
            raise ManifestError(f"{file}: {error.strerror}") from None
        yield from _parse_text(text, str(file))


def _parse_text(text: str, place: str) -> Iterator[Object]:
    # As kubectl does, so that each document is parsed as the API server parses a body.
    for number, document in enumerate(_SEPARATOR.split(text)):
        if not document.strip():
            continue
        try:
            value = documents.parse_yaml(document.encode()).value
        except documents.InvalidDocument as error:
            raise ManifestError(f"{place}: document {number}: {error}") from None
        if isinstance(value, str) and "\n" not in text:
            raise ManifestError(f"{text!r} is neither a file nor a manifest")
        if value is not None:
            yield from _list_items(value, f"{place}: document {number}")


def _list_items(value: Any, place: str) -> Iterator[Object]:
    """Yield an object, or the items of a list; a copy, so that the caller's object stays as it is."""
    if not isinstance(value, Mapping):
        raise ManifestError(f"{place} is no object: {value!r}")
    if missing := [name for name in ("apiVersion", "kind") if not isinstance(value.get(name), str)]:
        raise ManifestError(f"{place} has no {' and no '.join(missing)}")
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _list_items(item, f"an item of {place}")
        return
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping) or not (metadata.get("name") or metadata.get("generateName")):
        raise ManifestError(f"{place}: {value['kind']} has no metadata.name")
    yield {**value, "metadata": dict(metadata)}
