"""Decode request bodies as the expected kind, or refuse them in upstream's words."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from mockkube.api.decoding import decoding_errors, documents
from mockkube.api.decoding.codec import DecodingError, DecodingState
from mockkube.api.decoding.decoding_errors import find_decoding_error
from mockkube.api.errors import BadRequest
from mockkube.api.json_objects import Object
from mockkube.api.patching.go_formatting import json_kind_name
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.protobuf.envelope import GroupVersionKind, UnknownKind
from mockkube.api.protobuf.wire import Malformed
from mockkube.apiserver.http.requests.request_context import RequestDocument, parse_document
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch

_DELETE_OPTIONS: Final = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")
_META_SCHEME_SOURCE: Final = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_EXCERPT_BYTES_MAX: Final = 30
_TYPE_META_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


async def read_delete_options(request: ResourceRequest) -> Object | None:
    """Return the DeleteOptions of the body; None without a body."""
    text = await request.context.read_body()
    if not text:
        return None
    return await request.run_heavy_work(len(text), partial(_decode_delete_options, request, text))


def _decode_delete_options(request: ResourceRequest, text: bytes) -> Object:
    try:
        document = _parse_document(request, text, _DELETE_OPTIONS)
    except documents.InvalidDocument as error:
        raise BadRequest(_type_meta_message(str(error))) from error
    except Malformed as error:
        raise BadRequest(str(error)) from error
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadRequest(_type_meta_message(f"json parse error: {_not_an_object_message(value)}"))
    if value.get("kind", "DeleteOptions") != "DeleteOptions":
        given, version = value["kind"], value.get("apiVersion", "")
        # upstream decodes DeleteOptions with the codec of the metainternalversion scheme, whose registration the text
        # names.
        raise BadRequest(
            f"no kind {_quote(given)} is registered for version {_quote(version)}"
            f" in scheme {_quote(_META_SCHEME_SOURCE)}"
        )
    node = request.registry.schema.get_type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    try:
        return request.registry.dependencies.codec.decode(node, value, DecodingState())
    except DecodingError as error:
        raise BadRequest(find_decoding_error(node, value)) from error


def _parse_document(request: ResourceRequest, text: bytes, expected: GroupVersionKind) -> RequestDocument:
    media = request.context.request.headers.get("Content-Type", "")
    return parse_document(text, media, request.registry.dependencies.protobuf, expected)


def _quote(text: Any) -> str:
    return f'"{text}"'


async def decode_body(request: ResourceRequest, text: bytes, options: WriteOptions) -> Object:
    """Return the object of the body in the version of the resource; raise BadRequest for any other."""
    # The size of the text decides later whether the write's own work is worth a thread.
    request.scope.body_bytes = len(text)
    return await request.run_heavy_work(len(text), partial(_decode_object, request, text, options))


async def decode_patch(request: ResourceRequest, kind: PatchType, text: bytes) -> Patch:
    """Return the patch of the body; raise BadRequest if it cannot be parsed."""
    request.scope.body_bytes = len(text)
    return await request.run_heavy_work(len(text), partial(Patch.parse, kind, text))


def _decode_object(request: ResourceRequest, text: bytes, options: WriteOptions) -> Object:
    resource, expected = request.resource, request.resource.kind.kind
    try:
        document = _parse_document(request, text, GroupVersionKind(resource.group, resource.version, expected))
    except documents.InvalidDocument as error:
        raise BadRequest(_unrecognized_message(expected, str(error), text)) from error
    except UnknownKind as error:
        check_kind(request, {"kind": error.kind, "apiVersion": error.api_version})
        raise BadRequest(str(error)) from error
    except Malformed as error:
        if error.kind:
            raise BadRequest(resource.cannot_handle_message({"kind": error.kind}, str(error))) from error
        why = f"{error} ({_body_excerpt(text)})"
        raise BadRequest(f"the object provided is unrecognized (must be of type {expected}): {why}") from error
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadRequest(_unrecognized_message(expected, f"json parse error: {_not_an_object_message(value)}", text))
    if why := _type_meta_error(request, value, text):
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {expected}): {why} ({_body_excerpt(text)})"
        )
    check_kind(request, value)
    # Searching for repeated fields parses the text again, so it is left out where the result is ignored.
    repeats = documents.NO_DUPLICATES if options.field_validation == "Ignore" else document.find_repeats()
    return resource.decode(value, request.scope, options.field_validation, repeats)


def _type_meta_error(request: ResourceRequest, value: Mapping[str, Any], text: bytes) -> str:
    """Return the upstream error about apiVersion and kind; empty if they can be read."""
    # upstream 1.36: apimachinery/pkg/runtime/serializer/json/meta.go, apis/meta/v1/unstructured/unstructuredscheme
    for name in ("apiVersion", "kind"):
        if (given := value.get(name)) is not None and not isinstance(given, str):
            problem = f"json: cannot unmarshal {json_kind_name(given)} into Go struct field .{name} of type string"
            return f"couldn't get version/kind; json parse error: {problem}"
    version = value.get("apiVersion") or ""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if request.resource.accepts_other_kinds and not value.get("kind"):
        return f"Object 'Kind' is missing in '{text.decode(errors='replace')}'"
    return ""


def _type_meta_message(why: str) -> str:
    return f"couldn't get version/kind; {why}" if not why.startswith("yaml") else why


def _unrecognized_message(expected: str, why: str, text: bytes) -> str:
    reason, excerpt = _type_meta_message(why), _body_excerpt(text)
    return f"the object provided is unrecognized (must be of type {expected}): {reason} ({excerpt})"


def _body_excerpt(text: bytes) -> str:
    """Return the beginning of a body: text if it looks like JSON, else hexadecimal."""
    if not text:
        return "<empty>"
    dots = " ..." if len(text) > _EXCERPT_BYTES_MAX else ""
    beginning = text[:_EXCERPT_BYTES_MAX]
    return (beginning.decode(errors="replace") if text[:1] == b"{" else beginning.hex()) + dots


def _not_an_object_message(value: Any) -> str:
    kind = "array" if isinstance(value, list) else "string" if isinstance(value, str) else "number"
    kind = "bool" if isinstance(value, bool) else kind
    return f"json: cannot unmarshal {kind} into Go value of type {_TYPE_META_STRUCT}"


def check_kind(request: ResourceRequest, value: Mapping[str, Any]) -> None:
    """Refuse an object of another kind than the path's; a missing kind or version is taken from the path."""
    resource = request.resource
    # Custom resources are compared with their CRD when they are decoded.
    if resource.accepts_other_kinds:
        return
    kind, version = value.get("kind") or resource.kind.kind, value.get("apiVersion") or resource.api_version
    if kind == resource.kind.kind and version == resource.api_version:
        return
    known = (
        request.registry.schema.find_definition(*_split_api_version(version), kind)
        if isinstance(version, str)
        else None
    )
    # A v1 List is registered in every scheme but has no schema of its own.
    if kind == "List" and version == "v1":
        known = "List"
    if known is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    else:
        ours = "core" if not resource.group else resource.group.partition(".")[0]
        short = version.rpartition("/")[2]
        why = f"converting ({short}.{kind}) to ({ours}.{resource.kind.kind}): unknown conversion"
    raise BadRequest(resource.cannot_handle_message(value, why, version.rpartition("/")[2]))


def _split_api_version(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


async def read_body_as(
    request: ResourceRequest, schema_name: str, kind: str, versions: tuple[str, ...], *, validation: str = "Ignore"
) -> Object:
    """Return the body as an object of another kind than the resource's."""
    text = await request.context.read_body()
    decode = partial(_decode_body_as, request, text, schema_name, kind, versions, validation=validation)
    return await request.run_heavy_work(len(text), decode)


def _decode_body_as(
    request: ResourceRequest, text: bytes, schema_name: str, kind: str, versions: tuple[str, ...], *, validation: str
) -> Object:
    group, _, version = versions[0].rpartition("/")
    try:
        document = _parse_document(request, text, GroupVersionKind(group, version, kind))
    except documents.InvalidDocument as error:
        raise BadRequest(_unrecognized_message(kind, str(error), text)) from error
    except Malformed as error:
        raise BadRequest(str(error)) from error
    value = document.value if isinstance(document.value, dict) else {}
    given = (value.get("kind", kind), value.get("apiVersion", versions[0]))
    if given[0] != kind or given[1] not in versions:
        raise BadRequest(f"the object provided is a {given[0]} of {given[1]}, not a {kind} of {versions[0]}")
    obj = decode_as(request, schema_name, value, validation=validation)
    obj["kind"], obj["apiVersion"] = kind, versions[0]
    return obj


def decode_as(request: ResourceRequest, schema_name: str, value: Any, *, validation: str = "Ignore") -> Object:
    """Decode a value as another kind than the resource's."""
    node, found = request.registry.schema.get_type(schema_name), DecodingState()
    kind, version = schema_name.rpartition(".")[2], schema_name.split(".")[-2]
    try:
        obj = request.registry.dependencies.codec.decode(node, value, found)
    except DecodingError as error:
        why = decoding_errors.find_decoding_error(node, value)
        raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}') from error
    if found.has_unknown_fields and validation != "Ignore":
        texts = [f'unknown field "{path}"' for path in decoding_errors.find_unknown_fields(node, value)]
        if validation == "Strict":
            why = f"strict decoding error: {', '.join(texts)}"
            raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
        request.scope.warn(texts)
    obj.setdefault("metadata", {})
    return obj
