"""Decode request bodies as the expected kind, or refuse them in upstream's words."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from mockkube.api import complaints, documents
from mockkube.api.codec import DecodingError, DecodingState
from mockkube.api.complaints import find_decoding_error
from mockkube.api.errors import BadRequest
from mockkube.api.patching.gotext import json_kind_name
from mockkube.api.protobuf.envelope import GroupVersionKind, UnknownKind
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.types import Object
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.exchange import Document, read_document
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch, PatchType

_DELETE_OPTIONS: Final = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")
_META_SCHEME: Final = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_SNIPPET_MAX: Final = 30
_PROBE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


async def delete_body(asked: Asked) -> Object | None:
    """Return the DeleteOptions of the body; None without a body."""
    text = await asked.exchange.body()
    if not text:
        return None
    return await asked.heavy(len(text), partial(_delete_options, asked, text))


def _delete_options(asked: Asked, text: bytes) -> Object:
    try:
        document = _read(asked, text, _DELETE_OPTIONS)
    except documents.InvalidDocument as error:
        raise BadRequest(_unversioned(str(error))) from error
    except Malformed as error:
        raise BadRequest(str(error)) from error
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadRequest(_unversioned(f"json parse error: {_not_an_object(value)}"))
    if value.get("kind", "DeleteOptions") != "DeleteOptions":
        given, version = value["kind"], value.get("apiVersion", "")
        # upstream decodes DeleteOptions with the codec of the metainternalversion scheme, whose registration the text
        # names.
        raise BadRequest(f"no kind {_q(given)} is registered for version {_q(version)} in scheme {_q(_META_SCHEME)}")
    node = asked.registry.schema.get_type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    try:
        return asked.registry.services.codec.decode(node, value, DecodingState())
    except DecodingError as error:
        raise BadRequest(find_decoding_error(node, value)) from error


def _read(asked: Asked, text: bytes, expected: GroupVersionKind) -> Document:
    media = asked.exchange.request.headers.get("Content-Type", "")
    return read_document(text, media, asked.registry.services.protobuf, expected)


def _q(text: Any) -> str:
    return f'"{text}"'


async def decode_body(asked: Asked, text: bytes, wanted: WriteOptions) -> Object:
    """Return the object of the body in the version of the resource; raise BadRequest for any other."""
    # The size of the text decides later whether the write's own work is worth a thread.
    asked.call.size = len(text)
    return await asked.heavy(len(text), partial(_decode, asked, text, wanted))


async def read_patch(asked: Asked, kind: PatchType, text: bytes) -> Patch:
    """Return the patch of the body; raise BadRequest if it cannot be parsed."""
    asked.call.size = len(text)
    return await asked.heavy(len(text), partial(Patch.read, kind, text))


def _decode(asked: Asked, text: bytes, wanted: WriteOptions) -> Object:
    resource, expected = asked.resource, asked.resource.kind.kind
    try:
        document = _read(asked, text, GroupVersionKind(resource.group, resource.version, expected))
    except documents.InvalidDocument as error:
        raise BadRequest(_unrecognised(expected, str(error), text)) from error
    except UnknownKind as error:
        check_kind(asked, {"kind": error.kind, "apiVersion": error.api_version})
        raise BadRequest(str(error)) from error
    except Malformed as error:
        if error.kind:
            raise BadRequest(resource.cannot_handle({"kind": error.kind}, str(error))) from error
        why = f"{error} ({_summary(text)})"
        raise BadRequest(f"the object provided is unrecognized (must be of type {expected}): {why}") from error
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadRequest(_unrecognised(expected, f"json parse error: {_not_an_object(value)}", text))
    if why := _no_kind(asked, value, text):
        raise BadRequest(f"the object provided is unrecognized (must be of type {expected}): {why} ({_summary(text)})")
    check_kind(asked, value)
    # Searching for repeated fields parses the text again, so it is left out where the result is ignored.
    repeats = documents.NO_DUPLICATES if wanted.field_validation == "Ignore" else document.repeats()
    return resource.decode(value, asked.call, wanted.field_validation, repeats)


def _no_kind(asked: Asked, value: Mapping[str, Any], text: bytes) -> str:
    """Return the upstream error about apiVersion and kind; empty if they can be read."""
    # upstream 1.36: apimachinery/pkg/runtime/serializer/json/meta.go, apis/meta/v1/unstructured/unstructuredscheme
    for name in ("apiVersion", "kind"):
        if (given := value.get(name)) is not None and not isinstance(given, str):
            problem = f"json: cannot unmarshal {json_kind_name(given)} into Go struct field .{name} of type string"
            return f"couldn't get version/kind; json parse error: {problem}"
    version = value.get("apiVersion") or ""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if asked.resource.open_kind and not value.get("kind"):
        return f"Object 'Kind' is missing in '{text.decode(errors='replace')}'"
    return ""


def _unversioned(why: str) -> str:
    return f"couldn't get version/kind; {why}" if not why.startswith("yaml") else why


def _unrecognised(expected: str, why: str, text: bytes) -> str:
    return f"the object provided is unrecognized (must be of type {expected}): {_unversioned(why)} ({_summary(text)})"


def _summary(text: bytes) -> str:
    """Return the beginning of a body: text if it looks like JSON, else hexadecimal."""
    if not text:
        return "<empty>"
    dots = " ..." if len(text) > _SNIPPET_MAX else ""
    beginning = text[:_SNIPPET_MAX]
    return (beginning.decode(errors="replace") if text[:1] == b"{" else beginning.hex()) + dots


def _not_an_object(value: Any) -> str:
    kind = "array" if isinstance(value, list) else "string" if isinstance(value, str) else "number"
    kind = "bool" if isinstance(value, bool) else kind
    return f"json: cannot unmarshal {kind} into Go value of type {_PROBE}"


def check_kind(asked: Asked, value: Mapping[str, Any]) -> None:
    """Refuse an object of another kind than the path's; a missing kind or version is taken from the path."""
    resource = asked.resource
    # Custom resources are compared with their CRD when they are decoded.
    if resource.open_kind:
        return
    kind, version = value.get("kind") or resource.kind.kind, value.get("apiVersion") or resource.api_version
    if kind == resource.kind.kind and version == resource.api_version:
        return
    known = asked.registry.schema.find_definition(*_split(version), kind) if isinstance(version, str) else None
    # A v1 List is registered in every scheme but has no schema of its own.
    if kind == "List" and version == "v1":
        known = "List"
    if known is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    else:
        ours = "core" if not resource.group else resource.group.partition(".")[0]
        short = version.rpartition("/")[2]
        why = f"converting ({short}.{kind}) to ({ours}.{resource.kind.kind}): unknown conversion"
    raise BadRequest(resource.cannot_handle(value, why, version.rpartition("/")[2]))


def _split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


async def body_of(
    asked: Asked, definition: str, kind: str, versions: tuple[str, ...], *, validation: str = "Ignore"
) -> Object:
    """Return the body as an object of another kind than the resource's."""
    text = await asked.exchange.body()
    decode = partial(_decode_other, asked, text, definition, kind, versions, validation=validation)
    return await asked.heavy(len(text), decode)


def _decode_other(
    asked: Asked, text: bytes, definition: str, kind: str, versions: tuple[str, ...], *, validation: str
) -> Object:
    group, _, version = versions[0].rpartition("/")
    try:
        document = _read(asked, text, GroupVersionKind(group, version, kind))
    except documents.InvalidDocument as error:
        raise BadRequest(_unrecognised(kind, str(error), text)) from error
    except Malformed as error:
        raise BadRequest(str(error)) from error
    value = document.value if isinstance(document.value, dict) else {}
    given = (value.get("kind", kind), value.get("apiVersion", versions[0]))
    if given[0] != kind or given[1] not in versions:
        raise BadRequest(f"the object provided is a {given[0]} of {given[1]}, not a {kind} of {versions[0]}")
    obj = decode_as(asked, definition, value, validation=validation)
    obj["kind"], obj["apiVersion"] = kind, versions[0]
    return obj


def decode_as(asked: Asked, definition: str, value: Any, *, validation: str = "Ignore") -> Object:
    """Decode a value as another kind than the resource's."""
    node, found = asked.registry.schema.get_type(definition), DecodingState()
    kind, version = definition.rpartition(".")[2], definition.split(".")[-2]
    try:
        obj = asked.registry.services.codec.decode(node, value, found)
    except DecodingError as error:
        why = complaints.find_decoding_error(node, value)
        raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}') from error
    if found.has_unknown_fields and validation != "Ignore":
        texts = [f'unknown field "{path}"' for path in complaints.find_unknown_fields(node, value)]
        if validation == "Strict":
            why = f"strict decoding error: {', '.join(texts)}"
            raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
        asked.call.warn(texts)
    obj.setdefault("metadata", {})
    return obj
