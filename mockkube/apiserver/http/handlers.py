"""Handlers of the verbs on resources: decode the request, call the registry, render the result."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from aiohttp import web

from mockkube.api.errors import BadRequest, MethodNotAllowed, NotFound, UnsupportedMediaType
from mockkube.apiserver.http import bodies, component_statuses, rendering, streaming
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry import creation, deletion, listing, options, patching, updating
from mockkube.apiserver.registry.patching import PatchType
from mockkube.apiserver.registry.resource import Call, Resource, bare_version_error

Handler = Callable[[Asked], Awaitable[web.StreamResponse]]


async def get(asked: Asked) -> web.StreamResponse:
    """Answer with one object."""
    resource, scope = asked.resource, asked.call
    # upstream negotiates the output media type first, so 406 comes before any other error.
    _ = asked.representation
    if options.flag(asked.exchange.query, "export"):
        raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
    with bare_version_error():
        revision = options.revision_of(options.first(asked.exchange.query, "resourceVersion"))
    # A resource version of a get is a minimum: wait until the cache has reached it.
    if revision:
        await listing.wait_for(resource, revision)
    await resource.services.cache.fresh()
    record = resource.record(scope.namespace, scope.name)
    if record is None:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    return await asked.answer(record)


async def list_(asked: Asked) -> web.StreamResponse:
    """Answer with a collection."""
    representation = asked.representation
    wanted = options.list_options(asked.exchange.query)
    options.judge_list_options(wanted)
    listed = await listing.page(asked.resource, asked.call.namespace, wanted)
    show = partial(rendering.show_list, asked.resource, listed, representation, asked.exchange.view())
    # A large list is rendered in a thread so that the event loop can answer other requests meanwhile.
    body = await asked.heavy(
        rendering.work_on_list(asked.resource, listed, representation, asked.exchange.view()), show
    )
    return asked.exchange.respond(body, media=representation.media)


async def watch(asked: Asked) -> web.StreamResponse:
    """Stream the changes of a collection or of one object."""
    representation = asked.representation
    wanted = options.list_options({**asked.exchange.query, "watch": ["true"]})
    options.judge_list_options(wanted)
    return await streaming.stream(asked.resource, asked.call, wanted, representation, asked.exchange)


async def create(asked: Asked) -> web.StreamResponse:
    """Create the object of the body."""
    # As upstream, an Accept header that cannot be satisfied is refused before the body is read.
    _ = asked.representation
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "CreateOptions")
    obj = await bodies.decode_body(asked, given, wanted)
    return await asked.answer(await creation.create(asked.resource, asked.call, obj, wanted), status=201)


async def update(asked: Asked) -> web.StreamResponse:
    """Replace the object with the one of the body."""
    _ = asked.representation
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "UpdateOptions")
    obj = await bodies.decode_body(asked, given, wanted)
    updated = await updating.replace(asked.resource, asked.call, obj, wanted)
    return await asked.answer(updated.record, status=201 if updated.created else 200)


async def patch(asked: Asked) -> web.StreamResponse:
    """Apply a patch to the object."""
    _ = asked.representation
    kind = patch_type(asked)
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "PatchOptions", apply=kind is PatchType.APPLY)
    write = patching.apply if kind is PatchType.APPLY else patching.patch
    updated = await write(asked.resource, asked.call, await bodies.read_patch(asked, kind, given), wanted)
    return await asked.answer(updated.record, status=201 if updated.created else 200)


def patch_type(asked: Asked) -> PatchType:
    """Return the patch type of the Content-Type header; raise UnsupportedMediaType if the kind does not accept it."""
    known = asked.resource.patch_types
    media = asked.exchange.request.headers.get("Content-Type", "").partition(";")[0].strip()
    if media in known:
        return PatchType(media)
    # upstream: go-restful refuses an unknown type for built-in kinds; custom resources, which have no strategic merge
    # patch, refuse it in their own handler with another text.
    if len(known) == len(PatchType):
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
    what = "the body of the request was in an unknown format - accepted media types include"
    raise UnsupportedMediaType(f"{what}: {', '.join(known)}")


async def delete(asked: Asked) -> web.StreamResponse:
    """Delete one object."""
    wanted = options.delete_options(asked.exchange.query, await bodies.delete_body(asked))
    deleted = await deletion.delete(asked.resource, asked.call, wanted)
    # upstream: 202 only if orphanDependents=false was given. Any object that stays for its dependents would deserve it,
    # but that would break clients.
    status = 202 if not deleted.gone and wanted.orphan_dependents is False else 200
    if deleted.record is not None:
        return await asked.answer(deleted.record, status=status)
    return asked.say(deleted.status or {}, status=status)


async def delete_collection(asked: Asked) -> web.StreamResponse:
    """Delete the selected objects and answer with their list."""
    resource, scope = asked.resource, asked.call
    selected = options.list_options(asked.exchange.query)
    options.judge_list_options(selected)
    wanted = options.delete_options(asked.exchange.query, await bodies.delete_body(asked))
    listed = await listing.page(resource, scope.namespace, selected)
    for record in listed.records:
        # The scope names one object, so each deletion gets one of its own.
        one = Call(scope.user, record.namespace, record.name, user_agent=scope.user_agent)
        try:
            await deletion.delete(resource, one, wanted)
        except NotFound:
            continue
    representation = asked.representation
    body = rendering.show_list(resource, listed, representation, asked.exchange.view())
    return asked.exchange.respond(body, media=representation.media)


HANDLERS: Final[Mapping[str, Handler]] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}


def handler_of(target: Target, resource: Resource) -> Handler:
    """Return the handler of a verb; raise MethodNotAllowed or NotFound if the resource has none at this path."""
    if bool(target.namespace) != resource.kind.namespaced:
        if target.namespace and resource.plural != "namespaces":
            raise NotFound.for_path()
        if not target.namespace and target.name:
            raise NotFound.for_path()
        if not target.namespace and target.verb not in ("list", "watch"):
            raise MethodNotAllowed
    if (resource.group, resource.plural) == component_statuses.KIND:
        return component_statuses.handler_of(target)
    # A verb with a name where none belongs, or without one where it is needed, has no route upstream: 405.
    needs_name = target.verb in ("get", "update", "patch", "delete")
    if target.verb == "watch" and "watch" in resource.kind.verbs:
        return watch
    if target.verb not in resource.kind.verbs or needs_name != bool(target.name):
        raise MethodNotAllowed
    return HANDLERS[target.verb]
