"""OpenAPI operations of paths that are no resources: discovery, version, issuer keys."""

from typing import Final

from mockkube.apiserver.http.openapi.operations import META, TEXT, Operation, root, tag, title

_PLAIN: Final = ("application/json",)
_DISCOVERY: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


def _discovery(path: str, identifier: str, description: str, of: str, definition: str) -> Operation:
    return Operation(
        method="get",
        path=path,
        identifier=identifier,
        description=description,
        tag=of,
        consumes=_DISCOVERY,
        answers=((200, META + definition),),
    )


CORE: Final = _discovery("/api/", "getCoreAPIVersions", "get available API versions", "core", "APIVersions")
GROUPS: Final = _discovery("/apis/", "getAPIVersions", "get available API versions", "apis", "APIGroupList")
VERSION: Final = Operation(
    method="get",
    path="/version/",
    identifier="getCodeVersion",
    description="get the version information for this server",
    tag="version",
    consumes=_PLAIN,
    produces=_PLAIN,
    answers=((200, "io.k8s.apimachinery.pkg.version.Info"),),
)
ISSUER: Final = Operation(
    method="get",
    path="/.well-known/openid-configuration/",
    identifier="getServiceAccountIssuerOpenIDConfiguration",
    description="get the OpenID configuration of the service account issuer",
    tag="WellKnown",
    consumes=(),
    produces=_PLAIN,
    answers=((200, TEXT),),
)
KEYS: Final = Operation(
    method="get",
    path="/openid/v1/jwks/",
    identifier="getServiceAccountIssuerOpenIDKeyset",
    description="get the public keys that verify service account tokens",
    tag="openid",
    consumes=(),
    produces=("application/jwk-set+json",),
    answers=((200, TEXT),),
)


def of_group(group: str) -> Operation:
    """Return the operation that lists the versions of a group."""
    identifier = f"get{title(group)}APIGroup"
    return _discovery(f"{root(group)}/", identifier, "get information of a group", tag(group), "APIGroup")


def of_version(group: str, version: str) -> Operation:
    """Return the operation that lists the resources of a group and version."""
    identifier = f"get{title(group, version)}APIResources"
    of = tag(group, version)
    return _discovery(f"{root(group, version)}/", identifier, "get available resources", of, "APIResourceList")
