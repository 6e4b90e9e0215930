"""The verbs on resources: read what the request asks, call the registry, write what it answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from mockkube.api import documents
from mockkube.api.codec import Found, Mismatch
from mockkube.api.complaints import mismatch
from mockkube.api.errors import BadRequest, MethodNotAllowed, NotFound, UnsupportedMediaType
from mockkube.api.types import Object
from mockkube.apiserver.http import negotiation, rendering, streaming
from mockkube.apiserver.http.exchange import Exchange, read_document
from mockkube.apiserver.http.negotiation import Representation
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry import creation, deletion, listing, options, patching, updating
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch, PatchType
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

_SNIPPET_MAX: Final = 30
_PROBE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a resource, understood."""

    registry: Registry
    resource: Resource
    target: Target
    exchange: Exchange
    call: Call

    @property
    def representation(self) -> Representation:
        """How the answer is written."""
        return negotiation.negotiate(self.exchange.accept, watch=self.target.watch)

    def answer(self, record: Record, *, status: int = 200) -> web.Response:
        """Answer with an object."""
        representation = self.representation
        body = rendering.show_object(self.resource, record, representation, self.exchange.view())
        self.exchange.warnings = self.call.warnings
        return self.exchange.respond(body, status=status, media=representation.media)

    def say(self, value: Object, *, status: int = 200) -> web.Response:
        """Answer with a Status or another object that is not stored."""
        self.exchange.warnings = self.call.warnings
        return self.exchange.json(value, status=status, representation=self.representation)


Handler = Callable[[Asked], Awaitable[web.StreamResponse]]


async def get(asked: Asked) -> web.StreamResponse:
    """Answer with one object."""
    resource, call = asked.resource, asked.call
    revision = options.revision_of(options.first(asked.exchange.query, "resourceVersion"))
    if revision:
        await listing.wait_for(resource, revision)
    await resource.services.cache.fresh()
    record = resource.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object(resource.group, resource.plural, call.name)
    return asked.answer(record)


async def list_(asked: Asked) -> web.StreamResponse:
    """Answer with a collection."""
    representation = asked.representation
    wanted = options.list_options(asked.exchange.query)
    options.judge_list_options(wanted)
    listed = await listing.page(asked.resource, asked.call.namespace, wanted)
    body = rendering.show_list(asked.resource, listed, representation, asked.exchange.view())
    return asked.exchange.respond(body, media=representation.media)


async def watch(asked: Asked) -> web.StreamResponse:
    """Stream the changes of a collection, or of one object."""
    representation = asked.representation
    wanted = options.list_options({**asked.exchange.query, "watch": ["true"]})
    options.judge_list_options(wanted)
    return await streaming.stream(asked.resource, asked.call, wanted, representation, asked.exchange)


async def create(asked: Asked) -> web.StreamResponse:
    """Store the object of the body."""
    _ = asked.representation
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "CreateOptions")
    obj = decode_body(asked, given, wanted)
    return asked.answer(await creation.create(asked.resource, asked.call, obj, wanted), status=201)


async def update(asked: Asked) -> web.StreamResponse:
    """Replace the object by that of the body."""
    _ = asked.representation
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "UpdateOptions")
    obj = decode_body(asked, given, wanted)
    updated = await updating.replace(asked.resource, asked.call, obj, wanted)
    return asked.answer(updated.record, status=201 if updated.created else 200)


async def patch(asked: Asked) -> web.StreamResponse:
    """Change the object as the patch says."""
    _ = asked.representation
    kind = _patch_type(asked.exchange.request.headers.get("Content-Type", ""))
    given = await asked.exchange.body()
    wanted = options.write_options(asked.exchange.query, "PatchOptions", apply=kind is PatchType.APPLY)
    if kind is PatchType.APPLY:
        raise UnsupportedMediaType("server-side apply is not available yet: use a merge patch or kubectl apply")
    updated = await patching.patch(asked.resource, asked.call, Patch.read(kind, given), wanted)
    return asked.answer(updated.record)


def _patch_type(content_type: str) -> PatchType:
    try:
        return PatchType(content_type.partition(";")[0].strip())
    except ValueError as error:
        raise UnsupportedMediaType("415: Unsupported Media Type", details={}) from error


async def delete(asked: Asked) -> web.StreamResponse:
    """Delete one object."""
    wanted = options.delete_options(asked.exchange.query, await delete_body(asked))
    deleted = await deletion.delete(asked.resource, asked.call, wanted)
    status = 202 if not deleted.gone and wanted.orphan_dependents is False else 200
    if deleted.record is not None:
        return asked.answer(deleted.record, status=status)
    return asked.say(deleted.status or {}, status=status)


async def delete_collection(asked: Asked) -> web.StreamResponse:
    """Delete the objects a list would show; answer with that list."""
    resource, call = asked.resource, asked.call
    selected = options.list_options(asked.exchange.query)
    options.judge_list_options(selected)
    wanted = options.delete_options(asked.exchange.query, await delete_body(asked))
    listed = await listing.page(resource, call.namespace, selected)
    for record in listed.records:
        one = Call(call.user, record.namespace, record.name, user_agent=call.user_agent)
        try:
            await deletion.delete(resource, one, wanted)
        except NotFound:
            continue
    representation = asked.representation
    body = rendering.show_list(resource, listed, representation, asked.exchange.view())
    return asked.exchange.respond(body, media=representation.media)


async def delete_body(asked: Asked) -> Object | None:
    """The DeleteOptions of the body, if there is one."""
    text = await asked.exchange.body()
    if not text:
        return None
    try:
        document = read_document(text, asked.exchange.request.headers.get("Content-Type", ""))
    except documents.Unreadable as error:
        raise BadRequest(_unversioned(str(error))) from error
    value = document.value
    if not isinstance(value, dict):
        raise BadRequest(_unversioned(f"json parse error: {_not_an_object(value)}"))
    if value.get("kind", "DeleteOptions") != "DeleteOptions":
        raise BadRequest(f"no kind {_q(value['kind'])} is registered for version {_q(value.get('apiVersion', ''))}")
    node = asked.registry.schema.node("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    try:
        return asked.registry.services.codec.decode(node, value, Found())
    except Mismatch as error:
        raise BadRequest(mismatch(node, value)) from error


def _q(text: Any) -> str:
    return f'"{text}"'


def decode_body(asked: Asked, text: bytes, wanted: WriteOptions) -> Object:
    """The object of the body, decoded in the version of the resource; BadRequest for anything else."""
    resource, expected = asked.resource, asked.resource.kind.kind
    media = asked.exchange.request.headers.get("Content-Type", "")
    negotiation.body_media(media)
    try:
        document = read_document(text, media)
    except documents.Unreadable as error:
        raise BadRequest(_unrecognised(expected, str(error), text)) from error
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadRequest(_unrecognised(expected, f"json parse error: {_not_an_object(value)}", text))
    check_kind(asked, value)
    duplicates = () if wanted.field_validation == "Ignore" else document.duplicates()
    return resource.decode(value, asked.call, wanted.field_validation, duplicates)


def _unversioned(why: str) -> str:
    return f"couldn't get version/kind; {why}" if not why.startswith("yaml") else why


def _unrecognised(expected: str, why: str, text: bytes) -> str:
    return f"the object provided is unrecognized (must be of type {expected}): {_unversioned(why)} ({_summary(text)})"


def _summary(text: bytes) -> str:
    """The beginning of a body: as it is when it looks like JSON, else in hexadecimal."""
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
    """Refuse an object of another kind than the path's; what is not said is taken from the path."""
    resource = asked.resource
    kind, version = value.get("kind") or resource.kind.kind, value.get("apiVersion") or resource.api_version
    if kind == resource.kind.kind and version == resource.api_version:
        return
    known = asked.registry.schema.definition_of(*_split(version), kind) if isinstance(version, str) else None
    if kind == "List" and version == "v1":
        known = "List"
    if known is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    else:
        ours = "core" if not resource.group else resource.group.partition(".")[0]
        short = version.rpartition("/")[2]
        why = f"converting ({short}.{kind}) to ({ours}.{resource.kind.kind}): unknown conversion"
    raise BadRequest(resource.cannot_handle(value, why))


def _split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


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
    """The handler of a verb, if the resource has it there."""
    if bool(target.namespace) != resource.kind.namespaced:
        if target.namespace and resource.plural != "namespaces":
            raise NotFound.path()
        if not target.namespace and target.name:
            raise NotFound.path()
        if not target.namespace and target.verb not in ("list", "watch"):
            raise MethodNotAllowed
    needs_name = target.verb in ("get", "update", "patch", "delete")
    if target.verb == "watch" and "watch" in resource.kind.verbs:
        return watch
    if target.verb not in resource.kind.verbs or needs_name != bool(target.name):
        raise MethodNotAllowed
    return HANDLERS[target.verb]
