"""Patch objects: JSON patch, merge patch, strategic merge patch and server-side apply.

upstream 1.36: apiserver/pkg/endpoints/handlers/patch.go
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from mockkube.api.decoding import decoding_errors, documents
from mockkube.api.decoding.codec import DecodingError, DecodingState
from mockkube.api.decoding.documents import NO_DUPLICATES, DuplicateFields
from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound, TooLarge, Unprocessable
from mockkube.api.fields import invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching import errors as patch_errors
from mockkube.api.patching import go_formatting, json_patch, merge_patch, strategic
from mockkube.api.patching.go_formatting import json_kind_name
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.schema import TypeNode
from mockkube.apiserver.registry import creation, managed_fields, updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, error_without_reason, resets_managed_fields
from mockkube.apiserver.registry.updating import UpdateResult
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patch:
    """Body of a patch request: its type, its text, and the value parsed from the text."""

    type: PatchType
    text: bytes
    document: Any
    # Duplicate keys of the text; only YAML parsing finds them early, JSON is searched in `_check_patch`.
    duplicates: DuplicateFields = NO_DUPLICATES

    @classmethod
    def parse(cls, kind: PatchType, text: bytes) -> "Patch":
        """Parse the body of a patch request; raise BadRequest with upstream's text if it cannot be parsed."""
        if kind is PatchType.APPLY:
            return cls._parse_yaml(text)
        try:
            return cls(kind, text, documents.parse_json(text))
        except documents.InvalidDocument as error:
            # Upstream parses a strategic patch into a map before it decodes it, so that error has no prefix.
            prefix = "" if kind is PatchType.STRATEGIC else "error decoding patch: "
            raise BadRequest(prefix + str(error).removeprefix("json parse error: ")) from error

    @classmethod
    def _parse_yaml(cls, text: bytes) -> "Patch":
        try:
            read = documents.parse_yaml(text)
        except documents.InvalidDocument as error:
            # Go's YAML parser names the line only in documents of several lines.
            why = re.sub(r"^yaml: line \d+: ", "yaml: ", str(error)) if b"\n" not in text else str(error)
            raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {why}") from error
        if read.value is not None and not isinstance(read.value, dict):
            why = f"json: cannot unmarshal {json_kind_name(read.value)} into Go value of type map[string]interface {{}}"
            raise BadRequest(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
        return cls(PatchType.APPLY, text, read.value, read.duplicates)


async def patch(resource: Resource, scope: RequestScope, patch: Patch, options: WriteOptions) -> UpdateResult:
    """Apply a patch to the stored object."""
    # The body is checked once, before the loop of `update`, which may call `change` several times.
    patch = await resource.dependencies.heavy_work.run(scope.body_bytes, partial(_check_patch, patch, options))

    def change(old: Object) -> Object:
        new = _decode_patched(resource, scope, patch, old, apply_patch(resource.node, patch, old), options)
        updating.check_identity(resource, scope, new["metadata"])
        return new

    return await updating.update(resource, scope, change, options)


def _check_patch(patch: Patch, options: WriteOptions) -> Patch:
    """Return the patch with its JSON patch operations checked and its duplicate keys found."""
    if patch.type is PatchType.JSON:
        patch = replace(patch, document=read_json_patch(patch, typed=options.field_validation != "Ignore"))
    if options.field_validation == "Ignore":
        return patch
    duplicates = documents.find_duplicate_fields(patch.text, patch.document)
    return replace(patch, duplicates=duplicates) if duplicates else patch


async def apply(resource: Resource, scope: RequestScope, patch: Patch, options: WriteOptions) -> UpdateResult:
    """Apply an object server-side: update the stored object, or create it if there is none."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/patch.go, applyPatcher

    def change(old: Object) -> Object:
        return _apply_document(resource, scope, old, patch, options)

    # A stale cache would make this a creation that fails with AlreadyExists instead of an update.
    await resource.dependencies.watch_cache.wait_until_fresh()
    if resource.get_cached(scope.namespace, scope.name) is not None:
        return await updating.update(resource, scope, change, options, managers_updated=True)
    # Apply creates objects only through the main resource.
    if scope.subresource:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    new = await resource.run_with_conversions(
        partial(_apply_document, resource, scope, None, patch, options), scope.body_bytes
    )
    if uid := new["metadata"].get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise Conflict.for_object(resource.group, resource.plural, scope.name, why)
    # Apply ignores the resourceVersion of an object that does not exist yet; create would reject it.
    new["metadata"].pop("resourceVersion", None)
    cached = await creation.create(resource, scope, new, options, managers_updated=True)
    return UpdateResult(cached, is_created=True)


def _apply_document(
    resource: Resource, scope: RequestScope, old: Object | None, patch: Patch, options: WriteOptions
) -> Object:
    """Merge the applied document into the object and decode the result."""
    merged = managed_fields.apply_object(resource, scope, old, patch.document, options)
    # Unknown fields were reported while the document was merged, by the typed conversion.
    new = resource.decode(merged, scope, "Ignore")
    updating.check_identity(resource, scope, new["metadata"])
    if patch.duplicates and options.field_validation == "Strict":
        why = f"error converting YAML to JSON: {patch.duplicates.join_errors()}"
        raise BadRequest(f"error strict decoding YAML: {why}")
    if options.field_validation == "Warn":
        scope.warn(patch.duplicates.list_errors())
    return new


def read_json_patch(patch: Patch, *, typed: bool) -> Sequence[ReadOnlyObject]:
    """Return the operations of a JSON patch; raise BadRequest or TooLarge before any object is read."""
    try:
        return json_patch.parse_operations(patch.document, typed=typed)
    except patch_errors.BadPatch as error:
        raise BadRequest(str(error)) from error
    except patch_errors.TooManyOperations as error:
        raise TooLarge(f"Request entity too large: {error}") from error


def apply_patch(node: TypeNode, patch: Patch, old: Object) -> Any:
    """Return the patched object; raise upstream's error if the patch does not apply.

    The document of a JSON patch must have been checked by `read_json_patch`.
    """
    try:
        match patch.type:
            case PatchType.JSON:
                return json_patch.apply(old, patch.document)
            case PatchType.MERGE:
                return merge_patch.apply(old, patch.document)
            case _:
                return strategic.apply(old, patch.document, node)
    except patch_errors.BadPatch as error:
        raise BadRequest(str(error)) from error
    except patch_errors.PatchRejected as error:
        # Upstream hides the cause of a failed JSON patch test or missing path behind this text.
        message = "the server rejected our request due to an error in our request"
        raise Unprocessable(message, details={}) from error
    except patch_errors.PatchFailed as error:
        raise error_without_reason(500, str(error)) from error


def _decode_patched(
    resource: Resource, scope: RequestScope, patch: Patch, old: Object, patched: Any, options: WriteOptions
) -> Object:
    """Decode the patched object, which may share parts with the old one.

    Errors are field errors of `patch`, as upstream words them.
    """
    # upstream 1.36: apiserver/pkg/endpoints/handlers/patch.go
    found = DecodingState()
    # A strategic patch is applied to the typed object, so kind and apiVersion of the patch have no effect.
    if patch.type is not PatchType.STRATEGIC and (why := _find_kind_error(resource, patched)) is not None:
        raise _patch_error(patch, patched, why)
    try:
        # Only what was stored in this version is decoded already.
        decoded = old if resource.storage_resource is resource else {}
        obj = resource.dependencies.codec.decode_change(resource.node, patched, found, decoded)
    except DecodingError as error:
        raise _patch_error(patch, patched, _decoding_error_text(resource, patch, patched)) from error
    if resource.accepts_other_kinds and (version := obj.get("apiVersion", "")) != resource.api_version:
        # upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/validator.go, ValidateTypeMeta
        wrong = [invalid("apiVersion", version, f"must be {resource.api_version}")]
        raise Invalid(resource.group, resource.kind.kind, scope.name, wrong)
    texts = patch.duplicates.list_errors()
    if patch.type is PatchType.JSON:
        texts = [f"json patch {text}" for text in texts] + json_patch.find_unknown_fields(patch.document)
    # Finding the paths walks the whole object again, so it is only done when decoding met unknown fields.
    if found.has_unknown_fields:
        texts += [f'unknown field "{path}"' for path in resource.find_unknown_fields(patched)]
    if texts and options.field_validation == "Strict":
        raise _patch_error(patch, patched, f"strict decoding error: {', '.join(texts)}")
    if options.field_validation == "Warn":
        scope.warn(texts)
    scope.resets_managed_fields, scope.decoded_from = resets_managed_fields(patched), patched
    resource.complete(obj)
    return obj


def _find_kind_error(resource: Resource, patched: Any) -> str | None:
    """Return the error text for a patch that changes kind or apiVersion; None if it does not."""
    if not isinstance(patched, dict):
        return None
    kind, version = patched.get("kind"), patched.get("apiVersion")
    if resource.accepts_other_kinds:
        # upstream 1.36: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go
        return None if kind else f"Object 'Kind' is missing in '{_render_json(patched)}'"
    if kind == resource.kind.kind and version == resource.api_version:
        return None
    return f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'


def _decoding_error_text(resource: Resource, patch: Patch, patched: Any) -> str:
    """Return the decoding error in the words of the patch type."""
    if patch.type is PatchType.STRATEGIC:
        return decoding_errors.find_conversion_error(resource.node, patched)
    return decoding_errors.find_decoding_error(resource.node, patched)


def _patch_error(patch: Patch, patched: Any, why: str) -> Invalid:
    shown = (
        go_formatting.format_go_value(patch.document) if patch.type is PatchType.STRATEGIC else _render_json(patched)
    )
    return Invalid("", "", "", [invalid("patch", shown, why)])


def _render_json(value: Any) -> str:
    """Return a value as Go's encoding/json writes it: keys in sorted order."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
