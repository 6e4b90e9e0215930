"""Build OpenAPI documents: swagger 2.0 of the whole server, OpenAPI 3.0 of one group and version."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.http.openapi import parameters
from mockkube.apiserver.http.openapi.operations import TEXT, OpenApiOperation
from mockkube.apiserver.http.openapi.schemas import Schemas

_DESCRIPTIONS: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_UNAUTHORIZED: Final = {"description": "Unauthorized"}
_SECURITY: Final = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}
_SHARED_KINDS_MIN: Final = 2


def _build_info(schemas: Schemas) -> Object:
    return {"title": "Kubernetes", "version": str(schemas.version)}


def build_v3(
    operations: Iterable[OpenApiOperation], schemas: Schemas, group_version: tuple[str, str] | None = None
) -> Object:
    """Return the OpenAPI 3.0 document of the operations.

    With `about`, types shared by all groups (like DeleteOptions) list only kinds of that group and version.
    """
    chosen = list(operations)
    found = schemas.collect_reachable(_referenced_types(chosen))
    components: Object = {"securitySchemes": _SECURITY}
    # A document of discovery paths alone refers to no types, and then has no `schemas`.
    if found:
        components["schemas"] = (
            found if group_version is None else _restrict_shared_kinds(found, {("", "v1"), group_version})
        )
    paths = {path: _v3_path_item(methods, schemas) for path, methods in _group_by_path(chosen)}
    return {"openapi": "3.0.0", "info": _build_info(schemas), "paths": paths, "components": components}


def build_v2(operations: Iterable[OpenApiOperation], schemas: Schemas) -> Object:
    """Return the swagger 2.0 document of the whole server."""
    chosen = list(operations)
    pool = _SharedParameters()
    paths = {path: _v2_path_item(methods, schemas, pool) for path, methods in _group_by_path(chosen)}
    return {
        "swagger": "2.0",
        "info": _build_info(schemas),
        "paths": paths,
        "definitions": schemas.collect_reachable(_referenced_types(chosen)),
        "parameters": dict(sorted(pool.by_name.items())),
        "securityDefinitions": _SECURITY,
        "security": [{"BearerToken": []}],
    }


def _group_by_path(operations: Sequence[OpenApiOperation]) -> Iterator[tuple[str, list[OpenApiOperation]]]:
    ordered = sorted(operations, key=lambda operation: (operation.path, operation.method))
    for path, methods in groupby(ordered, key=lambda operation: operation.path):
        yield path, list(methods)


def _referenced_types(operations: Iterable[OpenApiOperation]) -> Iterator[str]:
    for operation in operations:
        yield from (definition for _, definition in operation.responses if definition != TEXT)
        if operation.body:
            yield operation.body


def _restrict_shared_kinds(schemas: Mapping[str, Object], group_versions: set[tuple[str, str]]) -> Object:
    """Return the schemas; shared ones list only kinds of these groups and versions."""
    key, restricted = "x-kubernetes-group-version-kind", dict(schemas)
    for name, schema in schemas.items():
        kinds = schema.get(key, ())
        if len(kinds) >= _SHARED_KINDS_MIN:
            kept = [kind for kind in kinds if (kind["group"], kind["version"]) in group_versions]
            restricted[name] = {**schema, key: kept}
    return restricted


def _describe_operation(operation: OpenApiOperation) -> Object:
    described: Object = {
        "description": operation.description,
        "operationId": operation.identifier,
        "tags": [operation.tag],
    }
    if operation.action:
        described["x-kubernetes-action"] = operation.action
    if operation.subject:
        described["x-kubernetes-group-version-kind"] = _group_version_kind(operation.subject)
    return described


def _group_version_kind(subject: GroupVersionKind) -> Object:
    return {"group": subject.group, "kind": subject.kind, "version": subject.version}


def _reference_schema(definition: str, schemas: Schemas) -> Object:
    return {"type": "string"} if definition == TEXT else schemas.reference(definition)


def _v3_path_item(operations: Sequence[OpenApiOperation], schemas: Schemas) -> Object:
    item: Object = {
        one.method: _v3_operation(one, parameters.shared_query_parameters(operations), schemas) for one in operations
    }
    if beside := parameters.path_item_parameters(operations):
        item["parameters"] = [_v3_parameter(parameter) for parameter in beside]
    return item


def _v3_operation(operation: OpenApiOperation, shared: frozenset[str], schemas: Schemas) -> Object:
    shown = _describe_operation(operation)
    if own := [name for name in operation.query if name not in shared]:
        shown["parameters"] = [_v3_parameter(parameter) for parameter in parameters.query_parameters(own)]
    if operation.body:
        content = _build_content(operation.consumes, schemas.reference(operation.body))
        shown["requestBody"] = (
            {"content": content, "required": True} if operation.body_required else {"content": content}
        )
    shown["responses"] = {
        str(code): {
            "content": _build_content(operation.produces, _reference_schema(definition, schemas)),
            "description": _DESCRIPTIONS[code],
        }
        for code, definition in operation.responses
    } | {"401": _UNAUTHORIZED}
    return shown


def _build_content(media: Iterable[str], schema: Object) -> Object:
    return {one: {"schema": schema} for one in sorted(media)}


def _v3_parameter(parameter: Mapping[str, Any]) -> Object:
    shown = {key: value for key, value in parameter.items() if key != "type"}
    return {**shown, "schema": {"type": parameter["type"], "uniqueItems": True}}


class _SharedParameters:
    """Swagger parameters that are defined once and referenced."""

    def __init__(self) -> None:
        self.by_name: dict[str, Object] = {}

    def reference(self, parameter: Mapping[str, Any]) -> Object:
        """Return a reference to the parameter, which is added under a name with its hash."""
        text = orjson.dumps(parameter, option=orjson.OPT_SORT_KEYS)
        name = f"{parameter['name']}-{base64.urlsafe_b64encode(hashlib.sha256(text).digest()[:6]).decode()}"
        self.by_name[name] = dict(parameter)
        return {"$ref": f"#/parameters/{name}"}


def _v2_path_item(operations: Sequence[OpenApiOperation], schemas: Schemas, pool: _SharedParameters) -> Object:
    shared = parameters.shared_query_parameters(operations)
    item: Object = {one.method: _v2_operation(one, shared, schemas, pool) for one in operations}
    if beside := parameters.path_item_parameters(operations):
        item["parameters"] = [_v2_parameter(parameter, pool) for parameter in beside]
    return item


def _v2_operation(
    operation: OpenApiOperation, shared: frozenset[str], schemas: Schemas, pool: _SharedParameters
) -> Object:
    shown: Object = {**_describe_operation(operation), "schemes": ["https"]}
    if operation.consumes:
        shown["consumes"] = list(operation.consumes)
    shown["produces"] = list(operation.produces)
    own = [
        _v2_parameter(one, pool) for one in parameters.query_parameters(n for n in operation.query if n not in shared)
    ]
    if operation.body:
        own.insert(0, _v2_body(operation, schemas, pool))
    if own:
        shown["parameters"] = own
    shown["responses"] = {
        str(code): {"description": _DESCRIPTIONS[code], "schema": _reference_schema(definition, schemas)}
        for code, definition in operation.responses
    } | {"401": _UNAUTHORIZED}
    return shown


def _v2_body(operation: OpenApiOperation, schemas: Schemas, pool: _SharedParameters) -> Object:
    body: Object = {"name": "body", "in": "body", "schema": schemas.reference(operation.body)}
    return {**body, "required": True} if operation.body_required else pool.reference(body)


def _v2_parameter(parameter: Mapping[str, Any], pool: _SharedParameters) -> Object:
    shown = {**parameter, "uniqueItems": True}
    # upstream: `name` is written out, as its description names the kind.
    return shown if parameter["name"] == "name" else pool.reference(shown)
