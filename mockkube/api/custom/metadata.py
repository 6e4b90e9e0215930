"""Decode and validate the metadata of custom resources and of objects embedded in them."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/objectmeta

from collections.abc import Iterator
from typing import Any, Final

from mockkube.api import names
from mockkube.api.custom.structural import Structural
from mockkube.api.decoding import decoding_errors
from mockkube.api.decoding.codec import Codec, DecodingError, DecodingState
from mockkube.api.fields import FieldError, invalid, map_entry_path, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.validation.metadata import validate_metadata

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class MetadataTypeError(ValueError):
    """Error for metadata, apiVersion or kind of a wrong type; the text is upstream's."""


class MetadataDecoder:
    """Decoder of metadata, as the Go type: pruned, type-checked, without empty values."""

    def __init__(self, codec: Codec) -> None:
        self.node = codec.schema.get_type(OBJECT_META)
        self._codec = codec

    def decode(self, value: Any, at: str = "metadata", unknown: list[str] | None = None) -> Object:
        """Return the metadata; raise MetadataTypeError. Add the paths of dropped fields to `unknown`."""
        if value is None:
            return {}
        found = DecodingState()
        try:
            metadata = self._codec.decode(self.node, value, found)
        except DecodingError as error:
            raise MetadataTypeError(decoding_errors.find_decoding_error(self.node, value)) from error
        if found.has_unknown_fields and unknown is not None:
            unknown += decoding_errors.find_unknown_fields(self.node, value, at)
        return metadata

    def decode_embedded(self, value: Any, schema: Structural, unknown: list[str]) -> None:
        """Decode, in place, the metadata of every embedded object in a value."""
        found: list[str] = []
        self._decode_within(value, schema, "", found)
        unknown += sorted(found)

    def _decode_within(self, value: Any, schema: Structural | None, at: str, unknown: list[str]) -> None:
        if schema is None:
            return
        match value:
            case dict():
                if schema.is_embedded_resource:
                    self._decode_embedded_object(value, at, unknown)
                for name, item in value.items():
                    self._decode_within(item, schema.child(name), _join_path(at, name), unknown)
            case list():
                for index, item in enumerate(value):
                    self._decode_within(item, schema.items, f"{at}[{index}]", unknown)

    def _decode_embedded_object(self, value: Object, at: str, unknown: list[str]) -> None:
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                raise MetadataTypeError(str(invalid(_join_path(at, name), value[name], "must be a string")))
        if "metadata" in value:
            here = _join_path(at, "metadata")
            try:
                value["metadata"] = self.decode(value["metadata"], here, unknown)
            except MetadataTypeError as error:
                raise MetadataTypeError(str(invalid(here, value["metadata"], str(error)))) from error


def _join_path(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def validate_embedded(value: Any, schema: Structural | None, at: str = "") -> Iterator[FieldError]:
    """Validate kind, apiVersion and metadata of every embedded object in a value."""
    if schema is None:
        return
    match value:
        case dict():
            if schema.is_embedded_resource:
                yield from _validate_embedded_object(value, at)
            for name, item in value.items():
                if name in schema.properties:
                    yield from validate_embedded(item, schema.properties[name], _join_path(at, name))
                else:
                    yield from validate_embedded(item, schema.additional_properties, map_entry_path(at, name))
        case list():
            for index, item in enumerate(value):
                yield from validate_embedded(item, schema.items, f"{at}[{index}]")


def _validate_embedded_object(value: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    yield from (required(_join_path(at, name)) for name in ("apiVersion", "kind") if name not in value)
    for name, item in value.items():
        match name:
            case "apiVersion":
                yield from _validate_version(item, _join_path(at, name))
            case "kind":
                yield from _validate_kind(item, _join_path(at, name))
            case "metadata":
                # upstream: an embedded object, such as a template, may do without a name.
                metadata = item if item.get("name") else {**item, "name": "fakename"}
                namespaced = bool(metadata.get("namespace"))
                judged = {"metadata": metadata}
                yield from validate_metadata(
                    judged, names.check_path_segment, namespaced, _join_path(at, name), native=False
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
