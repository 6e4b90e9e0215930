"""Render objects, lists and tables in the negotiated format.

A plain object or list is made of bytes that were encoded when the objects were stored. Only tables, metadata and YAML
decode what they show.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from mockkube.api.errors import BadRequest, NotAcceptable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.table import Printer
from mockkube.apiserver.http.responses.negotiation import JSON, PROTOBUF, YAML, Representation
from mockkube.apiserver.http.responses.protobuf_rendering import render_list_message, render_message
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.compressible_bytes import CompressibleBytes, join_chunks
from mockkube.apiserver.registry.listing import ListResult
from mockkube.apiserver.registry.resource import Resource, error_without_reason
from mockkube.apiserver.registry.watch_cache import ListRange
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN

# Joining that many objects takes long, however small they are, so it is done in a thread.
_MANY_OBJECTS: Final = 1000
_INCLUDE_OBJECT_VALUES: Final = ("", "Metadata", "Object", "None")
# Annotations that upstream's internal types hold as fields, so that PartialObjectMetadata lacks them.
_INTERNAL_FIELD_ANNOTATIONS: Final = {
    ("apps", "daemonsets"): "deprecated.daemonset.template.generation",
    ("apps", "deployments"): "deprecated.deployment.rollback.to",
}


def encode_value(value: Any, representation: Representation, *, pretty: bool = False) -> bytes:
    """Encode a JSON value as JSON or YAML."""
    if representation.media == YAML:
        from mockkube.apiserver.http.responses.yaml_text import to_yaml  # imports PyYAML, which few servers need

        return to_yaml(value)
    if pretty:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def encode_unstored(
    resource: Resource, value: Object, representation: Representation, output: "OutputOptions"
) -> bytes:
    """Encode an object that was built for this response."""
    if representation.media == PROTOBUF:
        return resource.dependencies.protobuf.encode(value)
    return encode_value(value, representation, pretty=output.pretty)


def render_object(
    resource: Resource, cached: CachedObject, representation: Representation, output: "OutputOptions"
) -> bytes:
    """Render one object."""
    match representation.transform:
        case "Table":
            return encode_value(
                build_table(resource, [cached], representation, output), representation, pretty=output.pretty
            )
        case "PartialObjectMetadata":
            return encode_unstored(
                resource, to_partial_metadata(resource, cached, representation), representation, output
            )
        case "PartialObjectMetadataList":
            if resource.accepts_other_kinds:
                raise error_without_reason(500, "content is not a list")
            kind = _go_type(resource, resource.kind.kind)
            raise NotAcceptable(
                f"you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
            )
    if representation.media == PROTOBUF:
        return render_message(resource, cached)
    if output.pretty or representation.media == YAML:
        # The stored bytes are compact JSON in the right order; other forms are made by decoding them again.
        return encode_value(orjson.loads(resource.body(cached)), representation, pretty=output.pretty)
    return resource.body(cached) + b"\n"


def estimate_list_work(
    resource: Resource, listed: ListResult, representation: Representation, output: "OutputOptions"
) -> int:
    """Return the bytes that rendering the list has to process; stored bytes sent unchanged do not count."""
    cached_objects = listed.items
    # Somebody has requested this span since its last change, so its joined parts are ready.
    if (
        isinstance(cached_objects, ListRange)
        and resource.api_version in cached_objects.encoded_items
        and not representation.transform
    ):
        return 0
    if len(cached_objects) >= _MANY_OBJECTS:
        return HEAVY_BYTES_MIN
    stored = not representation.transform and representation.media == JSON and resource.storage_resource is resource
    return 0 if stored and not output.pretty else sum([cached.size for cached in cached_objects])


def render_list(
    resource: Resource, listed: ListResult, representation: Representation, output: "OutputOptions"
) -> bytes | Sequence[CompressibleBytes]:
    """Render a list; plain lists come in parts that are not joined."""
    match representation.transform:
        case "Table":
            result = build_table(resource, listed.items, representation, output)
            result["metadata"] = _build_list_metadata(listed)
            return encode_value(result, representation, pretty=output.pretty)
        case "PartialObjectMetadataList":
            items = [to_partial_metadata(resource, cached, representation) for cached in listed.items]
            result = {
                "kind": representation.transform,
                "apiVersion": f"meta.k8s.io/{representation.version}",
                "metadata": _build_list_metadata(listed),
                "items": items or None,  # upstream: a list that was never made
            }
            return encode_unstored(resource, result, representation, output)
        case "PartialObjectMetadata":
            kind = _go_type(resource, resource.kind.list_kind)
            raise NotAcceptable(f"you requested PartialObjectMetadata, but the requested object is a list ({kind})")
    if representation.media == PROTOBUF:
        return render_list_message(resource, listed.items, _build_list_metadata(listed))
    parts = _render_list_parts(resource, listed)
    if output.pretty or representation.media == YAML:
        return encode_value(orjson.loads(b"".join(part.data for part in parts)), representation, pretty=output.pretty)
    return parts


def _go_type(resource: Resource, kind: str) -> str:
    """Return the Go type in which upstream holds the kind, for error texts."""
    if resource.accepts_other_kinds:
        return "*unstructured.UnstructuredList"
    return f"*{resource.storage_resource.group.partition('.')[0] or 'core'}.{kind}"


def _render_list_parts(resource: Resource, listed: ListResult) -> Sequence[CompressibleBytes]:
    """Return the list as JSON parts: the text before the items, the items, the text after them."""
    head = {
        "kind": resource.kind.list_kind,
        "apiVersion": resource.api_version,
        "metadata": _build_list_metadata(listed),
    }
    # upstream: lists of custom resources are unstructured, which write `continue` even when it is empty, sorted first.
    if resource.items_have_kind:
        head["metadata"] = {"continue": "", **_build_list_metadata(listed)}
    before = orjson.dumps(head)[:-1] + b',"items":['
    return CompressibleBytes(before), *_get_joined_items(resource, listed.items), CompressibleBytes(b"]}\n")


def _get_joined_items(resource: Resource, cached_objects: Sequence[CachedObject]) -> Sequence[CompressibleBytes]:
    """Return the joined items, shared by all requests for the same span until it changes."""
    if not isinstance(cached_objects, ListRange):
        return _join_items(resource, cached_objects)
    known = cached_objects.encoded_items.get(resource.api_version)
    if known is None:
        known = cached_objects.encoded_items[resource.api_version] = _join_items(resource, cached_objects)
    return known


def _join_items(resource: Resource, cached_objects: Sequence[CachedObject]) -> list[CompressibleBytes]:
    """Join the items with commas."""
    if resource.items_have_kind:
        return join_chunks(map(resource.body, cached_objects), between=b",")
    # Items of typed lists show neither kind nor apiVersion: only what follows them, the tail, is joined.
    tails = (
        (cached.tail for cached in cached_objects)
        if resource.storage_resource is resource
        else map(resource.tail, cached_objects)
    )
    return join_chunks(tails, first=b"{", between=b",{")


def _build_list_metadata(listed: ListResult) -> Object:
    metadata: Object = {"resourceVersion": str(listed.revision)} if listed.revision else {}
    if listed.continue_token:
        metadata["continue"] = listed.continue_token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
    return metadata


def to_partial_metadata(resource: Resource, cached: CachedObject, representation: Representation) -> Object:
    """Return an object reduced to its metadata."""
    return _to_partial_metadata(resource, cached.load(), representation)


def _to_partial_metadata(resource: Resource, obj: ReadOnlyObject, representation: Representation) -> Object:
    # upstream 1.36: apiserver/pkg/endpoints/handlers/response.go reads the metadata of the internal form
    metadata = obj["metadata"]
    hidden = _INTERNAL_FIELD_ANNOTATIONS.get((resource.group, resource.plural))
    if hidden in metadata.get("annotations", ()):
        metadata = dict(metadata)
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != hidden}
        if not metadata["annotations"]:
            del metadata["annotations"]
    version = f"meta.k8s.io/{representation.version}"
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata}


class OutputOptions:
    """Output options of the query: indentation, and the part of the object that tables include."""

    __slots__ = ("include", "pretty")

    def __init__(self, *, pretty: bool = False, include: str = "") -> None:
        self.pretty = pretty
        self.include = include


def build_table(
    resource: Resource,
    cached_objects: Sequence[CachedObject],
    representation: Representation,
    output: OutputOptions,
    *,
    columns: bool = True,
) -> Object:
    """Build a table of stored objects with the printer of their kind."""
    table = _build_empty_table(resource.printer, representation, output, columns=columns)
    # upstream takes the table's metadata from the object itself, which only a table of one object has.
    if len(cached_objects) == 1 and cached_objects[0].revision:
        table["metadata"] = {"resourceVersion": str(cached_objects[0].revision)}
    table["rows"] = [_build_object_row(resource, cached, representation, output) for cached in cached_objects]
    return table


def build_table_of_unstored(
    printer: Printer, obj: Object, now: datetime, representation: Representation, output: OutputOptions
) -> Object:
    """Build a table of one object that is not stored."""
    table = _build_empty_table(printer, representation, output, columns=True)
    table["metadata"] = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    metadata = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{representation.version}"}
    table["rows"] = [_build_row(printer, obj, now, obj, {**metadata, "metadata": obj["metadata"]}, output)]
    return table


def validate_output_options(representation: Representation, output: OutputOptions) -> None:
    """Refuse an unknown `includeObject` of a table."""
    if representation.transform == "Table" and output.include not in _INCLUDE_OBJECT_VALUES:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{output.include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )


def _build_empty_table(
    printer: Printer, representation: Representation, output: OutputOptions, *, columns: bool
) -> Object:
    validate_output_options(representation, output)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{representation.version}",
        "metadata": {},
        "columnDefinitions": _column_definitions(printer) if columns else None,
        "rows": [],
    }


def _column_definitions(printer: Printer) -> list[Object]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in printer.columns
    ]


def _build_object_row(
    resource: Resource, cached: CachedObject, representation: Representation, output: OutputOptions
) -> Object:
    obj = cached.load()
    served = resource.to_served_version(obj) if output.include == "Object" else obj
    partial = _to_partial_metadata(resource, obj, representation)
    return _build_row(resource.printer, obj, resource.dependencies.clock.now(), served, partial, output)


def _build_row(
    printer: Printer,
    obj: ReadOnlyObject,
    now: datetime,
    whole: ReadOnlyObject,
    partial: ReadOnlyObject,
    output: OutputOptions,
) -> Object:
    """Build a row with the part of the object that `includeObject` names."""
    printed = printer.row(obj, now)
    row: Object = {"cells": printed.cells}
    if printed.conditions:
        row["conditions"] = list(printed.conditions)
    row["object"] = {"Object": whole, "None": None}.get(output.include, partial)
    return row
