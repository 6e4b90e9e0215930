"""List objects: consistent and stale reads, selectors, pages and continue tokens."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson
from mockkube_storage import errors as store_errors

from mockkube.api import go_json
from mockkube.api.errors import BadRequest, Expired, Timeout
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import ListOptions, revision_of
from mockkube.apiserver.registry.resource import Resource
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN

# Selecting from this many objects runs off the event loop even if all of them are decoded already.
_MANY: Final = 5000
_FORMAT: Final = "meta.k8s.io/v1"
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Listed:
    """Page of a list: objects at one revision."""

    records: Sequence[Record]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """Continue token: revision of the list, and the key to go on from, relative to the list's prefix."""

    revision: int
    start: str

    def text(self) -> str:
        """Return the token as clients carry it."""
        plain = orjson.dumps({"v": _FORMAT, "rv": self.revision, "start": self.start})
        return base64.urlsafe_b64encode(plain).rstrip(b"=").decode()


def selector(resource: Resource, options: ListOptions) -> Callable[[Record], bool] | None:
    """Return the filter of a list's selectors; None if every object matches."""
    check_fields(resource, options)
    labels, fields = options.labels, options.fields
    if labels.is_empty and fields.is_empty:
        return None
    if fields.is_empty:
        return lambda record: labels.matches(record.labels)
    if labels.is_empty:
        return lambda record: fields.matches(record.fields)
    return lambda record: labels.matches(record.labels) and fields.matches(record.fields)


def check_fields(resource: Resource, options: ListOptions) -> None:
    """Raise BadRequest for a field selector that the kind does not support."""
    known = {"metadata.name", *resource.strategy.selectable_field_names}
    if resource.kind.namespaced:
        known.add("metadata.namespace")
    for requirement in options.fields.requirements:
        if requirement.field not in known:
            raise BadRequest(unsupported_field(resource, requirement.field))


def unsupported_field(resource: Resource, name: str) -> str:
    """Return the error text for an unsupported field selector."""
    # Upstream words it differently for kinds with a conversion function of their own and for those with the default
    # one.
    if resource.group == "resource.k8s.io" and resource.strategy.selectable_field_names:
        return f"field label not supported for {resource.api_version}, Kind={resource.kind.kind}: {name}"
    if resource.strategy.selectable_field_names or resource.open_kind:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


async def page(resource: Resource, namespace: str, options: ListOptions) -> Listed:
    """Return one page of a list."""
    matches = selector(resource, options)
    prefix = resource.prefix(namespace)
    if options.continue_token:
        if options.resource_version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
        token = _read_token(options.continue_token)
        return await _at_revision(resource, prefix, token.revision, prefix + token.start, matches, options.limit)
    revision = revision_of(options.resource_version)
    cache = resource.services.cache
    # Upstream: a limit together with a resourceVersion means Exact unless resourceVersionMatch says otherwise.
    if options.match == "Exact" or (revision and options.limit and not options.match):
        return await _at_revision(resource, prefix, revision, "", matches, options.limit)
    if revision:
        await wait_for(resource, revision)
    elif options.resource_version != "0":
        await cache.fresh()
    # With resourceVersion "0" upstream answers from the watch cache, which ignores limits.
    limit = 0 if options.resource_version == "0" else options.limit
    # Nothing may be awaited between reading the objects and the revision, or they would not belong together.
    records, revision = resource.collection.range(prefix), cache.revision
    records = await resource.all_seen(records, anew=options.resource_version != "0")
    return await _cut_beside(resource, records, prefix, revision, matches, limit)


async def wait_for(resource: Resource, revision: int) -> None:
    """Wait until the cache has a revision; raise Timeout if the store has not reached it."""
    services = resource.services
    if revision > await services.store.current_revision():
        raise _not_yet(revision, services.cache.revision)
    await services.cache.reach(revision)


def _not_yet(asked: int, current: int) -> Timeout:
    details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Timeout(message, details={**details, "retryAfterSeconds": 1}, retry_after_seconds=1)


async def _at_revision(
    resource: Resource, prefix: str, revision: int, start: str, chosen: Callable[[Record], bool] | None, limit: int
) -> Listed:
    """List the objects at a revision: from the cache if nothing changed since, else from the store's history."""
    services = resource.services
    if revision > await services.store.current_revision():
        raise _not_yet(revision, services.cache.revision)
    collection = resource.collection
    if collection.revision <= revision <= services.cache.revision:
        seen = await resource.all_seen(collection.range(prefix, start), anew=True)
        return await _cut_beside(resource, seen, prefix, revision, chosen, limit)
    try:
        stored = await services.store.list(prefix, start=start, revision=revision)
    except store_errors.Compacted as error:
        # Only a continue token tells the client that it can start over without one.
        if start:
            raise Expired(_TOO_OLD) from error
        raise Expired("The resourceVersion for the provided list is too old.") from error
    every = await resource.all_seen([resource.home.read_entry(entry) for entry in stored.entries], anew=True)
    return await _cut_beside(resource, every, prefix, revision, chosen, limit)


async def _cut_beside(
    resource: Resource,
    every: Sequence[Record],
    prefix: str,
    revision: int,
    chosen: Callable[[Record], bool] | None,
    limit: int,
) -> Listed:
    """Select a page; off the event loop if many objects must be decoded for it."""
    size = work_of_selecting(every) if chosen is not None else 0
    return await resource.services.heavy.run(size, partial(_cut, every, prefix, revision, chosen, limit))


def work_of_selecting(records: Sequence[Record]) -> int:
    """Return how many bytes must be decoded to select from these objects."""
    return HEAVY_BYTES_MIN if len(records) >= _MANY else sum([record.unread for record in records])


def _cut(
    every: Sequence[Record], prefix: str, revision: int, chosen: Callable[[Record], bool] | None, limit: int
) -> Listed:
    """Return the objects that match, up to the limit."""
    if not limit:
        return Listed(every if chosen is None else [record for record in every if chosen(record)], revision)
    shown: list[Record] = []
    for count, record in enumerate(every, 1):
        if chosen is None or chosen(record):
            shown.append(record)
            if len(shown) == limit and count < len(every):
                # The NUL byte makes this the smallest key after the last one of the page.
                token = Token(revision, record.key[len(prefix) :] + "\x00")
                # Like upstream, the remaining items are only counted for lists without selectors.
                return Listed(shown, revision, token.text(), len(every) - count if chosen is None else None)
    return Listed(shown, revision)


def _read_token(text: str) -> Token:
    """Decode a continue token; raise BadRequest if it is malformed."""
    # upstream 1.36: apiserver/pkg/storage/continue.go
    problem = "invalid continue token: continue key is not valid: "
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"{problem}illegal base64 data at input byte {len(text)}") from error
    try:
        value: Any = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise BadRequest(problem + go_json.find_syntax_error(plain)) from error
    version = value.get("v", "") if isinstance(value, dict) else ""
    if version != _FORMAT:
        raise BadRequest(f"{problem}server does not recognize this encoded version {version}")
    if not isinstance(value.get("start"), str) or not value["start"]:
        raise BadRequest(
            "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
        )
    # A start key with `..` could leave the prefix of the list.
    if value["start"].startswith("/") or "/../" in f"/{value['start']}/":
        raise BadRequest(f"invalid continue token: continue key is not valid: {value['start']}")
    revision = value.get("rv", 0)
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 <= revision < 1 << 63:
        raise BadRequest(f"{problem}the revision is not a number")
    return Token(revision, value["start"])
