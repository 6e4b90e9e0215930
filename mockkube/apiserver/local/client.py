"""The client protocol without a network: components of the same process call the registry as requests do.

The same authorization, admission and registry functions judge them; only parsing and rendering are left out.
"""

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from mockkube_storage import errors as store_errors

from mockkube.api.errors import ApiError, Internal, MethodNotAllowed, NotFound, Unavailable, UnsupportedMediaType
from mockkube.api.fields import quoted
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.authorization.refusals import refusal
from mockkube.apiserver.http.metrics import scope_label, verb_label
from mockkube.apiserver.http.request_metrics import RequestLabels
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.local import reviews, subresources
from mockkube.apiserver.local.endpoint import Desk, LocalDoor
from mockkube.apiserver.local.view import LocalWatch, View
from mockkube.apiserver.registry import creation, deletion, encoding, listing, patching, updating, watching
from mockkube.apiserver.registry.authorizer import Attributes
from mockkube.apiserver.registry.options import DeleteOptions, ListOptions, WriteOptions, list_options
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.client.identity import Identity
from mockkube.client.protocol import DEFAULT, EVERYTHING, Deletion, Key, Listed, PatchType, Selection
from mockkube.client.sight import Sight
from mockkube.runtime.component_log import Level, LogLine

_LOG: Final = logging.getLogger("mockkube.apiserver")
_WRITE: Final = WriteOptions(field_validation="Ignore")
_REFUSED: Final = 400
_HTTP_VERBOSITY: Final = 3
Heard = Callable[[Sequence[str]], None]


def _unheard(warnings: Sequence[str]) -> None:
    pass


class LocalClient:
    """A component's client of the API server behind a door; `sight` is None for a component of the server's version.

    `writes`: with which options it writes; `heard` is given the warnings of each answer, also of a refusal.
    """

    def __init__(
        self,
        door: LocalDoor,
        identity: Identity,
        sight: Sight | None = None,
        *,
        writes: WriteOptions = _WRITE,
        heard: Heard = _unheard,
    ) -> None:
        self.identity = identity
        self._door, self._sight, self._writes, self._heard = door, sight, writes, heard
        self._user = User(identity.user, groups=identity.groups)

    def _ask(
        self, verb: str, kind: str, key: Key, *, subresource: str = "", options: ListOptions | None = None
    ) -> "_Request":
        desk = self._door.desk()
        view = desk.view(kind, self._sight)
        call = Call(self._user, key.namespace, key.name, subresource, self.identity.user_agent)
        if not view.resource.kind.namespaced:
            call.namespace = ""
        return _Request(desk, view, call, verb, options, self._writes.field_validation, self._heard)

    async def get(self, kind: str, key: Key) -> ReadOnlyObject:
        """Return the object as it is at the server now."""
        with self._ask("get", kind, key) as asked:
            resource = asked.resource
            await resource.services.cache.fresh()
            record = resource.record(asked.call.namespace, asked.call.name)
            if record is None:
                raise NotFound.object(resource.group, resource.plural, key.name)
            return asked.view.show(record)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> Listed:
        """Return the selected objects as of now."""
        options = _options(selection)
        with self._ask("list", kind, Key(selection.namespace, ""), options=options) as asked:
            page = await listing.page(asked.resource, asked.call.namespace, options)
            return Listed([asked.view.show(record) for record in page.records], str(page.revision))

    async def watch(self, kind: str, selection: Selection, after: str) -> LocalWatch:
        """Watch from a resourceVersion on. Raises Expired when that is too long ago."""
        options = _options(selection, after)
        with self._ask("watch", kind, Key(selection.namespace, ""), options=options) as asked:
            opened = await watching.watch(asked.resource, asked.call.namespace, options)
            return LocalWatch(opened, asked.view, asked.desk.watches)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create the object, or post it to the subresource of the object called `name`."""
        if kind == reviews.REVIEW:
            return reviews.answer(self._door.desk().authorizer, self._user, obj)
        metadata = obj.get("metadata", {})
        key = Key(metadata.get("namespace", ""), (name or metadata.get("name", "")) if subresource else "")
        with self._ask("create", kind, key, subresource=subresource) as asked:
            if subresource:
                return await subresources.post(asked.resource, asked.call, obj, self._writes)
            decoded = asked.decoded(obj)
            return asked.view.show(await creation.create(asked.resource, asked.call, decoded, self._writes))

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace the object; Conflict unless its resourceVersion, if it has one, is the stored one."""
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
        with self._ask("update", kind, key, subresource=subresource) as asked:
            if subresource == "scale":
                return await subresources.put_scale(asked.resource, asked.call, obj, self._writes)
            decoded = asked.decoded(obj)
            updated = await updating.replace(asked.resource, asked.call, decoded, self._writes)
            return asked.view.show(updated.record)

    async def patch(
        self, kind: str, key: Key, patch: object, *, media: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Change the object."""
        with self._ask("patch", kind, key, subresource=subresource) as asked:
            if media not in asked.resource.patch_types:
                raise UnsupportedMediaType(f"the body of the request was in an unknown format: {media}")
            text = b"" if self._writes.field_validation == "Ignore" else encoding.dumps(patch)
            given = Patch(patching.PatchType(media), text, patch)
            if subresource == "scale":
                return await subresources.patch_scale(asked.resource, asked.call, given, self._writes)
            write = patching.apply if media is PatchType.APPLY else patching.patch
            return asked.view.show((await write(asked.resource, asked.call, given, self._writes)).record)

    async def delete(self, kind: str, key: Key, how: Deletion = DEFAULT) -> None:
        """Ask for the deletion; the object may stay for its finalizers or its grace period."""
        with self._ask("delete", kind, key) as asked:
            await deletion.delete(asked.resource, asked.call, _deletion(how))

    async def delete_collection(self, kind: str, selection: Selection, how: Deletion = DEFAULT) -> None:
        """Delete all selected objects."""
        options, wanted = _options(selection), _deletion(how)
        with self._ask("deletecollection", kind, Key(selection.namespace, ""), options=options) as asked:
            listed = await listing.page(asked.resource, asked.call.namespace, options)
            for record in listed.records:
                one = Call(asked.call.user, record.namespace, record.name, user_agent=asked.call.user_agent)
                try:
                    await deletion.delete(asked.resource, one, wanted)
                except NotFound:
                    continue


@dataclass(slots=True)
class _Request:
    """One request: let in or refused on entering, counted on leaving, its failures as the API tells them."""

    desk: Desk
    view: View
    call: Call
    verb: str
    options: ListOptions | None
    field_validation: str
    heard: Heard
    started: float = 0.0

    @property
    def resource(self) -> Resource:
        """What is asked for."""
        return self.view.resource

    def decoded(self, obj: ReadOnlyObject) -> Object:
        """What was sent, as this server reads it; a component need not say which kind it speaks of."""
        resource = self.resource
        if resource.open_kind:
            obj = {**obj, "kind": resource.kind.kind, "apiVersion": resource.api_version}
        return resource.decode(obj, self.call, self.field_validation)

    def __enter__(self) -> Self:
        self.desk.inside += 1
        self.started = self.desk.clock.monotonic()
        try:
            self._admit()
            self._check_verb()
        except ApiError as error:
            self._leave(error.code)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.call.warnings:
            self.heard(self.call.warnings)
        match error:
            case None:
                self._leave(201 if self.verb == "create" else 200)
            case ApiError():
                self._leave(error.code)
            case store_errors.Unavailable():
                self._leave(Unavailable.code)
                raise Unavailable(str(error)) from error
            case Exception():  # a bug in the server is its own, not the component's
                self._leave(Internal.code)
                _LOG.error("%s: %s", self.verb, "".join(traceback.format_exception(error)))
                raise Internal("an unexpected error, see the server's log") from error
            case _:
                self._leave(0)

    def _admit(self) -> None:
        call, resource, options = self.call, self.resource, self.options
        requirements = options.fields.requirements if options is not None else ()
        name = call.name or (options is not None and options.fields.exact("metadata.name")) or ""
        asked = Attributes(
            call.user, self.verb, resource.group, resource.plural, call.subresource, call.namespace, name,
            fields=requirements,
        )  # fmt: skip
        decision = self.desk.authorizer.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)

    def _check_verb(self) -> None:
        """Refuse what the resource, or its subresource, does not offer."""
        kind, name = self.resource.kind, self.call.subresource
        sub = kind.subresource(name) if name else None
        if name and sub is None:
            raise NotFound.path()
        if self.verb not in (kind.verbs if sub is None else sub.verbs):
            raise MethodNotAllowed

    def _leave(self, code: int) -> None:
        desk = self.desk
        desk.inside -= 1
        if not desk.inside:
            desk.left.set()
        if code:
            call, resource = self.call, self.resource
            verb, scope = verb_label(self.verb), scope_label(self.verb, call.namespace, call.name)
            labels = RequestLabels("", resource.group, resource.plural, scope, call.subresource, verb, resource.version)
            now = desk.clock.monotonic()
            desk.metrics.observe(labels, code, now - self.started)
            if code >= _REFUSED:
                self._log_refusal(now, verb, code)

    def _log_refusal(self, now: float, verb: str, code: int) -> None:
        """Log a refused request as `-v=3` does; the reason is not in such a line."""
        # upstream 1.36: staging/src/k8s.io/apiserver/pkg/server/httplog/httplog.go
        # differs: what succeeds is not logged, nobody would keep so many lines
        call, resource = self.call, self.resource
        namespace = ("namespaces", call.namespace) if call.namespace else ()
        root = ("apis", resource.group) if resource.group else ("api",)
        parts = (*root, resource.version, *namespace, resource.plural, call.name, call.subresource)
        uri, agent = quoted("/" + "/".join(filter(None, parts))), quoted(call.user_agent)
        text = f'"HTTP" verb="{verb}" URI={uri} userAgent={agent} resp={code}'
        self.desk.log.write(now, LogLine(Level.INFO, text, _HTTP_VERBOSITY))


def _options(selection: Selection, after: str = "") -> ListOptions:
    given = {"labelSelector": selection.labels, "fieldSelector": selection.fields, "resourceVersion": after}
    return list_options({name: (value,) for name, value in given.items() if value})


def _deletion(how: Deletion) -> DeleteOptions:
    return DeleteOptions(
        grace_seconds=how.grace_seconds,
        propagation=how.propagation,
        uid=how.uid or None,
        resource_version=how.resource_version or None,
    )
