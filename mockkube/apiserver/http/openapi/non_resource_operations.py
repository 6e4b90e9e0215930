"""OpenAPI operations of paths that are no resources: discovery, version, issuer keys."""

from typing import Final

from mockkube.apiserver.http.openapi.operations import (
    META,
    TEXT,
    OpenApiOperation,
    operation_tag,
    operation_title,
    root_path,
)

_JSON_ONLY: Final = ("application/json",)
_DISCOVERY_MEDIA_TYPES: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


def _discovery_operation(path: str, identifier: str, description: str, of: str, definition: str) -> OpenApiOperation:
    return OpenApiOperation(
        method="get",
        path=path,
        identifier=identifier,
        description=description,
        tag=of,
        consumes=_DISCOVERY_MEDIA_TYPES,
        responses=((200, META + definition),),
    )


CORE_VERSIONS: Final = _discovery_operation(
    "/api/", "getCoreAPIVersions", "get available API versions", "core", "APIVersions"
)
GROUP_LIST: Final = _discovery_operation(
    "/apis/", "getAPIVersions", "get available API versions", "apis", "APIGroupList"
)
VERSION: Final = OpenApiOperation(
    method="get",
    path="/version/",
    identifier="getCodeVersion",
    description="get the version information for this server",
    tag="version",
    consumes=_JSON_ONLY,
    produces=_JSON_ONLY,
    responses=((200, "io.k8s.apimachinery.pkg.version.Info"),),
)
ISSUER: Final = OpenApiOperation(
    method="get",
    path="/.well-known/openid-configuration/",
    identifier="getServiceAccountIssuerOpenIDConfiguration",
    description="get the OpenID configuration of the service account issuer",
    tag="WellKnown",
    consumes=(),
    produces=_JSON_ONLY,
    responses=((200, TEXT),),
)
KEYS: Final = OpenApiOperation(
    method="get",
    path="/openid/v1/jwks/",
    identifier="getServiceAccountIssuerOpenIDKeyset",
    description="get the public keys that verify service account tokens",
    tag="openid",
    consumes=(),
    produces=("application/jwk-set+json",),
    responses=((200, TEXT),),
)


def group_operation(group: str) -> OpenApiOperation:
    """Return the operation that lists the versions of a group."""
    identifier = f"get{operation_title(group)}APIGroup"
    return _discovery_operation(
        f"{root_path(group)}/", identifier, "get information of a group", operation_tag(group), "APIGroup"
    )


def version_operation(group: str, version: str) -> OpenApiOperation:
    """Return the operation that lists the resources of a group and version."""
    identifier = f"get{operation_title(group, version)}APIResources"
    of = operation_tag(group, version)
    return _discovery_operation(
        f"{root_path(group, version)}/", identifier, "get available resources", of, "APIResourceList"
    )
