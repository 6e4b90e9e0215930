"""Render objects, lists and tables in the negotiated format.

A plain object or list is made of bytes that were encoded when the objects were stored. Only tables, metadata and YAML
decode what they show.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from mockkube.api.errors import BadRequest, NotAcceptable
from mockkube.api.printers.table import Printer
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http.messages import message, message_list
from mockkube.apiserver.http.negotiation import JSON, PROTOBUF, YAML, Representation
from mockkube.apiserver.registry.bulk import Bulk, in_parts
from mockkube.apiserver.registry.cache import Record, Span
from mockkube.apiserver.registry.listing import Listed
from mockkube.apiserver.registry.resource import Resource, result_without_reason
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN

# Joining that many objects takes long, however small they are, so it is done in a thread.
_MANY: Final = 1000
_INCLUDES: Final = ("", "Metadata", "Object", "None")
# Annotations that upstream's internal types hold as fields, so that PartialObjectMetadata lacks them.
_FIELDS_WITHIN: Final = {
    ("apps", "daemonsets"): "deprecated.daemonset.template.generation",
    ("apps", "deployments"): "deprecated.deployment.rollback.to",
}


def to_bytes(value: Any, representation: Representation, *, pretty: bool = False) -> bytes:
    """Encode a JSON value as JSON or YAML."""
    if representation.media == YAML:
        from mockkube.apiserver.http.yaml_text import to_yaml  # imports PyYAML, which few servers need

        return to_yaml(value)
    if pretty:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def written(resource: Resource, value: Object, representation: Representation, view: "View") -> bytes:
    """Encode an object that was built for this response."""
    if representation.media == PROTOBUF:
        return resource.services.protobuf.encode(value)
    return to_bytes(value, representation, pretty=view.pretty)


def show_object(resource: Resource, record: Record, representation: Representation, view: "View") -> bytes:
    """Render one object."""
    match representation.transform:
        case "Table":
            return to_bytes(table(resource, [record], representation, view), representation, pretty=view.pretty)
        case "PartialObjectMetadata":
            return written(resource, metadata_of(resource, record, representation), representation, view)
        case "PartialObjectMetadataList":
            if resource.open_kind:
                raise result_without_reason(500, "content is not a list")
            kind = _go_type(resource, resource.kind.kind)
            raise NotAcceptable(
                f"you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
            )
    if representation.media == PROTOBUF:
        return message(resource, record)
    if view.pretty or representation.media == YAML:
        # The stored bytes are compact JSON in the right order; other forms are made by decoding them again.
        return to_bytes(orjson.loads(resource.body(record)), representation, pretty=view.pretty)
    return resource.body(record) + b"\n"


def work_on_list(resource: Resource, listed: Listed, representation: Representation, view: "View") -> int:
    """Return the bytes that rendering the list has to process; stored bytes sent unchanged do not count."""
    records = listed.records
    # Somebody has requested this span since its last change, so its joined parts are ready.
    if isinstance(records, Span) and resource.api_version in records.joined and not representation.transform:
        return 0
    if len(records) >= _MANY:
        return HEAVY_BYTES_MIN
    stored = not representation.transform and representation.media == JSON and resource.home is resource
    return 0 if stored and not view.pretty else sum([len(record.tail) for record in records])


def show_list(
    resource: Resource, listed: Listed, representation: Representation, view: "View"
) -> bytes | Sequence[Bulk]:
    """Render a list; plain lists come in parts that are not joined."""
    match representation.transform:
        case "Table":
            whole = table(resource, listed.records, representation, view)
            whole["metadata"] = _list_metadata(listed)
            return to_bytes(whole, representation, pretty=view.pretty)
        case "PartialObjectMetadataList":
            items = [metadata_of(resource, record, representation) for record in listed.records]
            whole = {
                "kind": representation.transform,
                "apiVersion": f"meta.k8s.io/{representation.version}",
                "metadata": _list_metadata(listed),
                "items": items or None,  # upstream: a list that was never made
            }
            return written(resource, whole, representation, view)
        case "PartialObjectMetadata":
            kind = _go_type(resource, resource.kind.list_kind)
            raise NotAcceptable(f"you requested PartialObjectMetadata, but the requested object is a list ({kind})")
    if representation.media == PROTOBUF:
        return message_list(resource, listed.records, _list_metadata(listed))
    parts = _parts(resource, listed)
    if view.pretty or representation.media == YAML:
        return to_bytes(orjson.loads(b"".join(part.plain for part in parts)), representation, pretty=view.pretty)
    return parts


def _go_type(resource: Resource, kind: str) -> str:
    """Return the Go type in which upstream holds the kind, for error texts."""
    if resource.open_kind:
        return "*unstructured.UnstructuredList"
    return f"*{resource.home.group.partition('.')[0] or 'core'}.{kind}"


def _parts(resource: Resource, listed: Listed) -> Sequence[Bulk]:
    """Return the list as JSON parts: the text before the items, the items, the text after them."""
    head = {"kind": resource.kind.list_kind, "apiVersion": resource.api_version, "metadata": _list_metadata(listed)}
    # upstream: lists of custom resources are unstructured, which write `continue` even when it is empty, sorted first.
    if resource.whole_items:
        head["metadata"] = {"continue": "", **_list_metadata(listed)}
    before = orjson.dumps(head)[:-1] + b',"items":['
    return Bulk(before), *_items(resource, listed.records), Bulk(b"]}\n")


def _items(resource: Resource, records: Sequence[Record]) -> Sequence[Bulk]:
    """Return the joined items, shared by all requests for the same span until it changes."""
    if not isinstance(records, Span):
        return _joined(resource, records)
    known = records.joined.get(resource.api_version)
    if known is None:
        known = records.joined[resource.api_version] = _joined(resource, records)
    return known


def _joined(resource: Resource, records: Sequence[Record]) -> list[Bulk]:
    """Join the items with commas."""
    if resource.whole_items:
        return in_parts(map(resource.body, records), between=b",")
    # Items of typed lists show neither kind nor apiVersion: only what follows them, the tail, is joined.
    tails = (record.tail for record in records) if resource.home is resource else map(resource.tail, records)
    return in_parts(tails, first=b"{", between=b",{")


def _list_metadata(listed: Listed) -> Object:
    metadata: Object = {"resourceVersion": str(listed.revision)} if listed.revision else {}
    if listed.continue_token:
        metadata["continue"] = listed.continue_token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
    return metadata


def metadata_of(resource: Resource, record: Record, representation: Representation) -> Object:
    """Return an object reduced to its metadata."""
    return _partial(resource, record.load(), representation)


def _partial(resource: Resource, obj: ReadOnlyObject, representation: Representation) -> Object:
    # upstream 1.36: apiserver/pkg/endpoints/handlers/response.go reads the metadata of the internal form
    metadata = obj["metadata"]
    hidden = _FIELDS_WITHIN.get((resource.group, resource.plural))
    if hidden in metadata.get("annotations", ()):
        metadata = dict(metadata)
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != hidden}
        if not metadata["annotations"]:
            del metadata["annotations"]
    version = f"meta.k8s.io/{representation.version}"
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata}


class View:
    """Output options of the query: indentation, and the part of the object that tables include."""

    __slots__ = ("include", "pretty")

    def __init__(self, *, pretty: bool = False, include: str = "") -> None:
        self.pretty = pretty
        self.include = include


def table(
    resource: Resource, records: Sequence[Record], representation: Representation, view: View, *, columns: bool = True
) -> Object:
    """Build a table of stored objects with the printer of their kind."""
    whole = _table(resource.printer, representation, view, columns=columns)
    # upstream takes the table's metadata from the object itself, which only a table of one object has.
    if len(records) == 1 and records[0].revision:
        whole["metadata"] = {"resourceVersion": str(records[0].revision)}
    whole["rows"] = [_row_of(resource, record, representation, view) for record in records]
    return whole


def table_of(printer: Printer, obj: Object, now: datetime, representation: Representation, view: View) -> Object:
    """Build a table of one object that is not stored."""
    whole = _table(printer, representation, view, columns=True)
    whole["metadata"] = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    metadata = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{representation.version}"}
    whole["rows"] = [_row(printer, obj, now, obj, {**metadata, "metadata": obj["metadata"]}, view)]
    return whole


def judge_view(representation: Representation, view: View) -> None:
    """Refuse an unknown `includeObject` of a table."""
    if representation.transform == "Table" and view.include not in _INCLUDES:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{view.include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )


def _table(printer: Printer, representation: Representation, view: View, *, columns: bool) -> Object:
    judge_view(representation, view)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{representation.version}",
        "metadata": {},
        "columnDefinitions": _columns(printer) if columns else None,
        "rows": [],
    }


def _columns(printer: Printer) -> list[Object]:
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


def _row_of(resource: Resource, record: Record, representation: Representation, view: View) -> Object:
    obj = record.load()
    whole = resource.served(obj) if view.include == "Object" else obj
    partial = _partial(resource, obj, representation)
    return _row(resource.printer, obj, resource.services.clock.now(), whole, partial, view)


def _row(
    printer: Printer, obj: ReadOnlyObject, now: datetime, whole: ReadOnlyObject, partial: ReadOnlyObject, view: View
) -> Object:
    """Build a row with the part of the object that `includeObject` names."""
    printed = printer.row(obj, now)
    row: Object = {"cells": printed.cells}
    if printed.conditions:
        row["conditions"] = list(printed.conditions)
    row["object"] = {"Object": whole, "None": None}.get(view.include, partial)
    return row
