"""Handlers of the verbs on resources: decode the request, call the registry, render the result."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from mockkube.api.errors import BadRequest, MethodNotAllowed, NotFound, UnsupportedMediaType
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http import web
from mockkube.apiserver.http.handlers import component_statuses, watch_server
from mockkube.apiserver.http.requests import request_bodies
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.http.responses import rendering
from mockkube.apiserver.registry import creation, deletion, listing, options, patching, updating
from mockkube.apiserver.registry.resource import RequestScope, Resource, plain_version_errors

ResourceHandler = Callable[[ResourceRequest], Awaitable[web.StreamResponse]]


async def get(request: ResourceRequest) -> web.StreamResponse:
    """Answer with one object."""
    resource, scope = request.resource, request.scope
    # upstream negotiates the output media type first, so 406 comes before any other error.
    _ = request.representation
    if options.parse_bool(request.context.query, "export"):
        raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
    with plain_version_errors():
        revision = options.parse_resource_version(options.first_value(request.context.query, "resourceVersion"))
    # A resource version of a get is a minimum: wait until the cache has reached it.
    if revision:
        await listing.wait_for_revision(resource, revision)
    await resource.dependencies.watch_cache.wait_until_fresh()
    cached = resource.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    return await request.respond_object(cached)


async def list_objects(request: ResourceRequest) -> web.StreamResponse:
    """Answer with a collection."""
    representation = request.representation
    list_options = options.parse_list_options(request.context.query)
    options.validate_list_options(list_options)
    listed = await listing.list_page(request.resource, request.scope.namespace, list_options)
    show = partial(rendering.render_list, request.resource, listed, representation, request.context.output_options())
    # A large list is rendered in a thread so that the event loop can answer other requests meanwhile.
    body = await request.run_heavy_work(
        rendering.estimate_list_work(request.resource, listed, representation, request.context.output_options()), show
    )
    return request.context.respond(body, media=representation.media)


async def watch(request: ResourceRequest) -> web.StreamResponse:
    """Stream the changes of a collection or of one object."""
    representation = request.representation
    list_options = options.parse_list_options({**request.context.query, "watch": ["true"]})
    options.validate_list_options(list_options)
    return await watch_server.serve_watch(
        request.resource, request.scope, list_options, representation, request.context
    )


async def create(request: ResourceRequest) -> web.StreamResponse:
    """Create the object of the body."""
    # As upstream, an Accept header that cannot be satisfied is refused before the body is read.
    _ = request.representation
    body = await request.context.read_body()
    write_options = options.parse_write_options(request.context.query, "CreateOptions")
    obj = await request_bodies.decode_body(request, body, write_options)
    return await request.respond_object(
        await creation.create(request.resource, request.scope, obj, write_options), status=201
    )


async def update(request: ResourceRequest) -> web.StreamResponse:
    """Replace the object with the one of the body."""
    _ = request.representation
    body = await request.context.read_body()
    write_options = options.parse_write_options(request.context.query, "UpdateOptions")
    obj = await request_bodies.decode_body(request, body, write_options)
    updated = await updating.replace(request.resource, request.scope, obj, write_options)
    return await request.respond_object(updated.object, status=201 if updated.is_created else 200)


async def patch(request: ResourceRequest) -> web.StreamResponse:
    """Apply a patch to the object."""
    _ = request.representation
    kind = get_patch_type(request)
    body = await request.context.read_body()
    write_options = options.parse_write_options(request.context.query, "PatchOptions", apply=kind is PatchType.APPLY)
    write = patching.apply if kind is PatchType.APPLY else patching.patch
    updated = await write(
        request.resource, request.scope, await request_bodies.decode_patch(request, kind, body), write_options
    )
    return await request.respond_object(updated.object, status=201 if updated.is_created else 200)


def get_patch_type(request: ResourceRequest) -> PatchType:
    """Return the patch type of the Content-Type header; raise UnsupportedMediaType if the kind does not accept it."""
    known = request.resource.patch_types
    media = request.context.request.headers.get("Content-Type", "").partition(";")[0].strip()
    if media in known:
        return PatchType(media)
    # upstream: go-restful refuses an unknown type for built-in kinds; custom resources, which have no strategic merge
    # patch, refuse it in their own handler with another text.
    if len(known) == len(PatchType):
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
    what = "the body of the request was in an unknown format - accepted media types include"
    raise UnsupportedMediaType(f"{what}: {', '.join(known)}")


async def delete(request: ResourceRequest) -> web.StreamResponse:
    """Delete one object."""
    delete_options = options.parse_delete_options(
        request.context.query, await request_bodies.read_delete_options(request)
    )
    deleted = await deletion.delete(request.resource, request.scope, delete_options)
    # upstream: 202 only if orphanDependents=false was given. Any object that stays for its dependents would deserve it,
    # but that would break clients.
    status = 202 if not deleted.is_gone and delete_options.orphan_dependents is False else 200
    if deleted.object is not None:
        return await request.respond_object(deleted.object, status=status)
    return request.respond_unstored(deleted.status or {}, status=status)


async def delete_collection(request: ResourceRequest) -> web.StreamResponse:
    """Delete the selected objects and answer with their list."""
    resource, scope = request.resource, request.scope
    selected = options.parse_list_options(request.context.query)
    options.validate_list_options(selected)
    delete_options = options.parse_delete_options(
        request.context.query, await request_bodies.read_delete_options(request)
    )
    listed = await listing.list_page(resource, scope.namespace, selected)
    for cached in listed.items:
        # The scope names one object, so each deletion gets one of its own.
        one = RequestScope(scope.user, cached.namespace, cached.name, user_agent=scope.user_agent)
        try:
            await deletion.delete(resource, one, delete_options)
        except NotFound:
            continue
    representation = request.representation
    body = rendering.render_list(resource, listed, representation, request.context.output_options())
    return request.context.respond(body, media=representation.media)


HANDLERS: Final[Mapping[str, ResourceHandler]] = {
    "get": get,
    "list": list_objects,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}


def find_handler(info: RequestInfo, resource: Resource) -> ResourceHandler:
    """Return the handler of a verb; raise MethodNotAllowed or NotFound if the resource has none at this path."""
    if bool(info.namespace) != resource.kind.namespaced:
        if info.namespace and resource.plural != "namespaces":
            raise NotFound.for_path()
        if not info.namespace and info.name:
            raise NotFound.for_path()
        if not info.namespace and info.verb not in ("list", "watch"):
            raise MethodNotAllowed
    if (resource.group, resource.plural) == component_statuses.KIND:
        return component_statuses.find_handler(info)
    # A verb with a name where none belongs, or without one where it is needed, has no route upstream: 405.
    needs_name = info.verb in ("get", "update", "patch", "delete")
    if info.verb == "watch" and "watch" in resource.kind.verbs:
        return watch
    if info.verb not in resource.kind.verbs or needs_name != bool(info.name):
        raise MethodNotAllowed
    return HANDLERS[info.verb]
