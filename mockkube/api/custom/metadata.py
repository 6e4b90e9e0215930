"""Decode and validate the metadata of custom resources and of objects embedded in them."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/objectmeta

from collections.abc import Iterator
from typing import Any, Final

from mockkube.api import complaints, names
from mockkube.api.codec import Codec, DecodingError, DecodingState
from mockkube.api.custom.structural import Structural
from mockkube.api.fields import FieldError, invalid, map_entry_path, required
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.metadata import validate_metadata

DEFINITION: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Misread(ValueError):
    """Error for metadata, apiVersion or kind of a wrong type; the text is upstream's."""


class MetadataReader:
    """Decoder of metadata, as the Go type: pruned, type-checked, without empty values."""

    def __init__(self, codec: Codec) -> None:
        self.node = codec.schema.get_type(DEFINITION)
        self._codec = codec

    def read(self, value: Any, at: str = "metadata", unknown: list[str] | None = None) -> Object:
        """Return the metadata; raise MetadataTypeError. Add the paths of dropped fields to `unknown`."""
        if value is None:
            return {}
        found = DecodingState()
        try:
            metadata = self._codec.decode(self.node, value, found)
        except DecodingError as error:
            raise Misread(complaints.find_decoding_error(self.node, value)) from error
        if found.has_unknown_fields and unknown is not None:
            unknown += complaints.find_unknown_fields(self.node, value, at)
        return metadata

    def read_embedded(self, value: Any, schema: Structural, unknown: list[str]) -> None:
        """Decode, in place, the metadata of every embedded object in a value."""
        found: list[str] = []
        self._read_within(value, schema, "", found)
        unknown += sorted(found)

    def _read_within(self, value: Any, schema: Structural | None, at: str, unknown: list[str]) -> None:
        if schema is None:
            return
        match value:
            case dict():
                if schema.embedded:
                    self._read_own(value, at, unknown)
                for name, item in value.items():
                    self._read_within(item, schema.child(name), _path(at, name), unknown)
            case list():
                for index, item in enumerate(value):
                    self._read_within(item, schema.items, f"{at}[{index}]", unknown)

    def _read_own(self, value: Object, at: str, unknown: list[str]) -> None:
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                raise Misread(str(invalid(_path(at, name), value[name], "must be a string")))
        if "metadata" in value:
            here = _path(at, "metadata")
            try:
                value["metadata"] = self.read(value["metadata"], here, unknown)
            except Misread as error:
                raise Misread(str(invalid(here, value["metadata"], str(error)))) from error


def _path(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def validate_embedded(value: Any, schema: Structural | None, at: str = "") -> Iterator[FieldError]:
    """Validate kind, apiVersion and metadata of every embedded object in a value."""
    if schema is None:
        return
    match value:
        case dict():
            if schema.embedded:
                yield from _validate_own(value, at)
            for name, item in value.items():
                if name in schema.properties:
                    yield from validate_embedded(item, schema.properties[name], _path(at, name))
                else:
                    yield from validate_embedded(item, schema.additional, map_entry_path(at, name))
        case list():
            for index, item in enumerate(value):
                yield from validate_embedded(item, schema.items, f"{at}[{index}]")


def _validate_own(value: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    yield from (required(_path(at, name)) for name in ("apiVersion", "kind") if name not in value)
    for name, item in value.items():
        match name:
            case "apiVersion":
                yield from _validate_version(item, _path(at, name))
            case "kind":
                yield from _validate_kind(item, _path(at, name))
            case "metadata":
                # upstream: an embedded object, such as a template, may do without a name.
                metadata = item if item.get("name") else {**item, "name": "fakename"}
                namespaced = bool(metadata.get("namespace"))
                judged = {"metadata": metadata}
                yield from validate_metadata(
                    judged, names.check_path_segment, namespaced, _path(at, name), native=False
                )


def _validate_version(version: str, at: str) -> Iterator[FieldError]:
    if not version:
        yield invalid(at, version, "must not be empty")
    elif version.count("/") > 1:
        yield invalid(at, version, f"unexpected GroupVersion string: {version}")


def _validate_kind(kind: str, at: str) -> Iterator[FieldError]:
    if not kind:
        yield invalid(at, kind, "must not be empty")
    elif wrong := names.check_dns1035_label(kind.lower()):
        yield invalid(at, kind, f"may have mixed case, but should otherwise match: {','.join(wrong)}")
