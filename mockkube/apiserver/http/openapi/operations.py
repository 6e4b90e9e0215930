"""OpenAPI operations: what each path and method takes and answers, common to both forms of the document."""

# upstream 1.36: apiserver/pkg/endpoints/installer.go
from collections.abc import Callable, Iterator
from typing import Final

from mockkube.api.catalogue import KindInfo, Subresource
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.registry.deletion import RETURNS_DELETED_OBJECT
from mockkube.lazy_dataclasses import dataclass

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
TEXT: Final = "string"
"""Type name of a response in plain text."""
_ANY_MEDIA_TYPE: Final = ("*/*",)
_MEDIA_TYPES: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_WATCH_MEDIA_TYPES: Final = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PATCH_MEDIA_TYPES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_LIST_PARAMETERS: Final = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch"),
)
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_DELETE_PARAMETERS: Final = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents"),
    *("pretty", "propagationPolicy"),
)
_DELETE_COLLECTION_PARAMETERS: Final = tuple(
    sorted({*_LIST_PARAMETERS, *_DELETE_PARAMETERS} - {"allowWatchBookmarks", "watch"}),
)
_LOG_PARAMETERS: Final = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous", "sinceSeconds"),
    *("stream", "tailLines", "timestamps"),
)
_CONNECT_PARAMETERS: Final = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "portforward": ("ports",),
    "proxy": ("path",),
}
_CONNECT_METHODS: Final = {"proxy": ("delete", "get", "head", "options", "patch", "post", "put")}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiOperation:
    """One method of one path; types are full schema names, or TEXT."""

    method: str
    path: str
    identifier: str
    description: str
    tag: str
    query: tuple[str, ...] = ()
    consumes: tuple[str, ...] = _ANY_MEDIA_TYPE
    produces: tuple[str, ...] = _MEDIA_TYPES
    responses: tuple[tuple[int, str], ...] = ()
    body: str = ""
    body_required: bool = True
    action: str = ""
    subject: GroupVersionKind | None = None


FindSchemaName = Callable[[str, str, str], str]
"""Function that returns the schema name of a group, version and kind."""


def kind_operations(kind: KindInfo, version: str, find: FindSchemaName) -> Iterator[OpenApiOperation]:
    """Yield the operations on a kind in one of its versions."""
    resource = _ResourceOperations(kind, version, find)
    yield from resource.collection_operations()
    yield from resource.object_operations()
    yield from resource.watch_operations()
    for sub in kind.subresources:
        yield from resource.subresource_operations(sub)


def root_path(group: str, version: str = "") -> str:
    """Return the path below which a group, or one of its versions, is served."""
    return "/".join(part for part in ("/apis" if group else "/api", group, version) if part)


def operation_title(group: str, version: str = "") -> str:
    """Return group and version as in operation ids: `RbacAuthorizationV1`."""
    words = (group.removesuffix(".k8s.io") or "core").split(".")
    return "".join(word.capitalize() for word in (*words, version) if word)


def operation_tag(group: str, version: str = "") -> str:
    """Return the tag of a group and version: `rbacAuthorization_v1`."""
    name = operation_title(group)
    return "_".join(part for part in (name[:1].lower() + name[1:], version) if part)


class _ResourceOperations:
    """Builder of the operations on one kind in one version."""

    def __init__(self, kind: KindInfo, version: str, find: FindSchemaName) -> None:
        self._kind = kind
        self._find = find
        self._version = version
        self._root = root_path(kind.group, version)
        self._title = operation_title(kind.group, version)
        self._tag = operation_tag(kind.group, version)
        self._scope = "Namespaced" if kind.namespaced else ""
        self._in_namespace = "/namespaces/{namespace}" if kind.namespaced else ""
        self._type = find(kind.group, version, kind.kind)
        self._subject = GroupVersionKind(kind.group, version, kind.kind)

    def collection_operations(self) -> Iterator[OpenApiOperation]:
        """Yield list, create and deletecollection."""
        kind, verbs = self._kind.kind, self._kind.verbs
        path = f"{self._root}{self._in_namespace}/{self._kind.plural}"
        if "list" in verbs:
            yield self._list_operation(path, f"list{self._title}{self._scope}{kind}")
            if self._kind.namespaced:
                yield self._list_operation(
                    f"{self._root}/{self._kind.plural}", f"list{self._title}{kind}ForAllNamespaces"
                )
        if "create" in verbs:
            name, description = f"create{self._title}{self._scope}{kind}", f"create{_indefinite_article(kind)} {kind}"
            yield self._write_operation("post", path, name, description, self._type)
        if "deletecollection" in verbs:
            yield OpenApiOperation(
                method="delete",
                path=path,
                identifier=f"delete{self._title}Collection{self._scope}{kind}",
                description=f"delete collection of {kind}",
                tag=self._tag,
                query=_DELETE_COLLECTION_PARAMETERS,
                responses=((200, META + "Status"),),
                body=META + "DeleteOptions",
                body_required=False,
                action="deletecollection",
                subject=self._subject,
            )

    def _list_operation(self, path: str, identifier: str) -> OpenApiOperation:
        watched = "watch" in self._kind.verbs
        return OpenApiOperation(
            method="get",
            path=path,
            identifier=identifier,
            description=f"list {'or watch ' if watched else ''}objects of kind {self._kind.kind}",
            tag=self._tag,
            query=_LIST_PARAMETERS,
            produces=_MEDIA_TYPES + _WATCH_MEDIA_TYPES,
            responses=((200, self._find(self._kind.group, self._version, self._kind.list_kind)),),
            action="list",
            subject=self._subject,
        )

    def object_operations(self) -> Iterator[OpenApiOperation]:
        """Yield read, replace, patch and delete."""
        kind, verbs = self._kind.kind, self._kind.verbs
        path = f"{self._root}{self._in_namespace}/{self._kind.plural}/{{name}}"
        name = f"{self._title}{self._scope}{kind}"
        if "get" in verbs:
            yield self._read_operation(path, f"read{name}", f"read the specified {kind}", self._type)
        if "update" in verbs:
            yield self._write_operation("put", path, f"replace{name}", f"replace the specified {kind}", self._type)
        if "patch" in verbs:
            yield self._write_operation(
                "patch", path, f"patch{name}", f"partially update the specified {kind}", self._type
            )
        if "delete" in verbs:
            # upstream answers the deletion of a few old kinds with the object instead of a Status.
            returned = (self._kind.group, kind) in RETURNS_DELETED_OBJECT
            answer = self._type if returned else META + "Status"
            yield OpenApiOperation(
                method="delete",
                path=path,
                identifier=f"delete{name}",
                description=f"delete{_indefinite_article(kind)} {kind}",
                tag=self._tag,
                query=_DELETE_PARAMETERS,
                responses=((200, answer), (202, answer)),
                body=META + "DeleteOptions",
                body_required=False,
                action="delete",
                subject=self._subject,
            )

    def watch_operations(self) -> Iterator[OpenApiOperation]:
        """Yield the deprecated operations below `/watch`."""
        if "watch" not in self._kind.verbs:
            return
        kind, plural = self._kind.kind, self._kind.plural
        path = f"{self._root}/watch{self._in_namespace}/{plural}"
        name = f"watch{self._title}{self._scope}{kind}"
        yield self._watch_operation(path, f"{name}List", "watchlist")
        yield self._watch_operation(f"{path}/{{name}}", name, "watch")
        if self._kind.namespaced:
            everywhere = f"watch{self._title}{kind}ListForAllNamespaces"
            yield self._watch_operation(f"{self._root}/watch/{plural}", everywhere, "watchlist")

    def _watch_operation(self, path: str, identifier: str, action: str) -> OpenApiOperation:
        if action == "watch":
            description = (
                f"watch changes to an object of kind {self._kind.kind}. deprecated: use the 'watch' parameter with a "
            )
            description += "list operation instead, filtered to a single item with the 'fieldSelector' parameter."
        else:
            description = (
                f"watch individual changes to a list of {self._kind.kind}. deprecated: use the 'watch' parameter "
            )
            description += "with a list operation instead."
        return OpenApiOperation(
            method="get",
            path=path,
            identifier=identifier,
            description=description,
            tag=self._tag,
            query=_LIST_PARAMETERS,
            produces=_MEDIA_TYPES + _WATCH_MEDIA_TYPES,
            responses=((200, META + "WatchEvent"),),
            action=action,
            subject=self._subject,
        )

    def subresource_operations(self, sub: Subresource) -> Iterator[OpenApiOperation]:
        """Yield the operations on a subresource."""
        kind = self._kind.kind
        path = f"{self._root}{self._in_namespace}/{self._kind.plural}/{{name}}/{sub.name}"
        name = f"{self._title}{self._scope}{kind}{sub.name.capitalize()}"
        if sub.name in _CONNECT_PARAMETERS:
            yield from self._connect_operations(sub, path)
            return
        if sub.name == "log":
            yield self._log_operation(path, f"read{name}", f"read log of the specified {kind}")
            return
        subject = self._subresource_kind(sub)
        definition = self._find(*subject)
        if "get" in sub.verbs:
            description = f"read {sub.name} of the specified {kind}"
            yield self._read_operation(path, f"read{name}", description, definition, subject=subject)
        if "update" in sub.verbs:
            description = f"replace {sub.name} of the specified {kind}"
            yield self._write_operation("put", path, f"replace{name}", description, definition, subject=subject)
        if "patch" in sub.verbs:
            description = f"partially update {sub.name} of the specified {kind}"
            yield self._write_operation("patch", path, f"patch{name}", description, definition, subject=subject)
        if "create" in sub.verbs:
            description = f"create {sub.name} of{_indefinite_article(kind)} {kind}"
            yield self._write_operation("post", path, f"create{name}", description, definition, subject=subject)

    def _subresource_kind(self, sub: Subresource) -> GroupVersionKind:
        if not sub.group_version:
            return self._subject._replace(kind=sub.kind or self._kind.kind)
        group, _, version = sub.group_version.rpartition("/")
        return GroupVersionKind(group, version, sub.kind)

    def _connect_operations(self, sub: Subresource, path: str) -> Iterator[OpenApiOperation]:
        suffixes = (("", ""), ("/{path}", "WithPath")) if sub.name == "proxy" else (("", ""),)
        for suffix, ending in suffixes:
            for method in _CONNECT_METHODS.get(sub.name, ("get", "post")):
                name = f"{method.capitalize()}{self._scope}{self._kind.kind}{sub.name.capitalize()}{ending}"
                yield OpenApiOperation(
                    method=method,
                    path=path + suffix,
                    identifier=f"connect{self._title}{name}",
                    description=f"connect {method.upper()} requests to {sub.name} of {self._kind.kind}",
                    tag=self._tag,
                    query=_CONNECT_PARAMETERS[sub.name],
                    produces=_ANY_MEDIA_TYPE,
                    responses=((200, TEXT),),
                    action="connect",
                    subject=self._subject._replace(kind=sub.kind),
                )

    def _log_operation(self, path: str, identifier: str, description: str) -> OpenApiOperation:
        return OpenApiOperation(
            method="get",
            path=path,
            identifier=identifier,
            description=description,
            tag=self._tag,
            query=_LOG_PARAMETERS,
            produces=("text/plain", *_MEDIA_TYPES),
            responses=((200, TEXT),),
            action="get",
            subject=self._subject,
        )

    def _read_operation(
        self, path: str, identifier: str, description: str, definition: str, subject: GroupVersionKind | None = None
    ) -> OpenApiOperation:
        return OpenApiOperation(
            method="get",
            path=path,
            identifier=identifier,
            description=description,
            tag=self._tag,
            query=("pretty",),
            responses=((200, definition),),
            action="get",
            subject=subject or self._subject,
        )

    def _write_operation(
        self,
        method: str,
        path: str,
        identifier: str,
        description: str,
        definition: str,
        subject: GroupVersionKind | None = None,
    ) -> OpenApiOperation:
        # upstream: PUT and PATCH may create, and only POST documents 202.
        codes = (200, 201, 202) if method == "post" else (200, 201)
        patching = method == "patch"
        return OpenApiOperation(
            method=method,
            path=path,
            identifier=identifier,
            description=description,
            tag=self._tag,
            query=tuple(sorted((*_WRITE_PARAMETERS, "force"))) if patching else _WRITE_PARAMETERS,
            consumes=_PATCH_MEDIA_TYPES if patching else _ANY_MEDIA_TYPE,
            responses=tuple((code, definition) for code in codes),
            body=META + "Patch" if patching else definition,
            action=method,
            subject=subject or self._subject,
        )


def _indefinite_article(kind: str) -> str:
    """Return the article of a kind with a space before it; none for a plural."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return ""
    return " an" if kind[:1] in tuple("AEIOU") else " a"
