"""Listing: which records, as of when, and where the next page begins."""

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

_MANY: Final = 5000
"""So many records take a while to select from, though they have been selected from before."""
_FORMAT: Final = "meta.k8s.io/v1"
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of records at one revision."""

    records: Sequence[Record]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """Where a list goes on: at which revision, from which key (relative to the list's prefix)."""

    revision: int
    start: str

    def text(self) -> str:
        """The token as clients carry it."""
        plain = orjson.dumps({"v": _FORMAT, "rv": self.revision, "start": self.start})
        return base64.urlsafe_b64encode(plain).rstrip(b"=").decode()


def selector(resource: Resource, options: ListOptions) -> Callable[[Record], bool] | None:
    """What decides whether a record is listed; None when all are."""
    check_fields(resource, options)
    labels, fields = options.labels, options.fields
    if labels.empty and fields.empty:
        return None
    if fields.empty:
        return lambda record: labels.matches(record.labels)
    if labels.empty:
        return lambda record: fields.matches(record.fields)
    return lambda record: labels.matches(record.labels) and fields.matches(record.fields)


def check_fields(resource: Resource, options: ListOptions) -> None:
    """Refuse field selectors on what this kind cannot be selected by."""
    known = {"metadata.name", *resource.strategy.selectable}
    if resource.kind.namespaced:
        known.add("metadata.namespace")
    for requirement in options.fields.requirements:
        if requirement.field not in known:
            raise BadRequest(unsupported_field(resource, requirement.field))


def unsupported_field(resource: Resource, name: str) -> str:
    """Kinds with selectable fields of their own word it differently from those without."""
    if resource.group == "resource.k8s.io" and resource.strategy.selectable:
        return f"field label not supported for {resource.api_version}, Kind={resource.kind.kind}: {name}"
    if resource.strategy.selectable or resource.open_kind:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


async def page(resource: Resource, namespace: str, options: ListOptions) -> Listed:
    """List what the options ask for."""
    chosen = selector(resource, options)
    prefix = resource.prefix(namespace)
    if options.continue_token:
        if options.resource_version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
        token = _read_token(options.continue_token)
        return await _at_revision(resource, prefix, token.revision, prefix + token.start, chosen, options.limit)
    revision = revision_of(options.resource_version)
    cache = resource.services.cache
    if options.match == "Exact" or (revision and options.limit and not options.match):
        return await _at_revision(resource, prefix, revision, "", chosen, options.limit)
    if revision:
        await wait_for(resource, revision)
    elif options.resource_version != "0":
        await cache.fresh()
    limit = 0 if options.resource_version == "0" else options.limit
    records, revision = resource.collection.range(prefix), cache.revision
    records = await resource.all_seen(records, anew=options.resource_version != "0")
    return await _cut_beside(resource, records, prefix, revision, chosen, limit)


async def wait_for(resource: Resource, revision: int) -> None:
    """Wait for a revision the store has; answer Timeout for one it has not reached."""
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
    """List what the store held at a revision: from memory when nothing has changed since, else from its history."""
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
    """Select from many records beside the event loop: those that nobody has selected from yet are decoded for it."""
    size = work_of_selecting(every) if chosen is not None else 0
    return await resource.services.heavy.run(size, partial(_cut, every, prefix, revision, chosen, limit))


def work_of_selecting(records: Sequence[Record]) -> int:
    """How many bytes it takes to look at to select from these records."""
    return HEAVY_BYTES_MIN if len(records) >= _MANY else sum([record.unread for record in records])


def _cut(
    every: Sequence[Record], prefix: str, revision: int, chosen: Callable[[Record], bool] | None, limit: int
) -> Listed:
    if not limit:
        return Listed(every if chosen is None else [record for record in every if chosen(record)], revision)
    shown: list[Record] = []
    for seen, record in enumerate(every, 1):
        if chosen is None or chosen(record):
            shown.append(record)
            if len(shown) == limit and seen < len(every):
                token = Token(revision, record.key[len(prefix) :] + "\x00")
                return Listed(shown, revision, token.text(), len(every) - seen if chosen is None else None)
    return Listed(shown, revision)


def _read_token(text: str) -> Token:
    """Read a continue token; BadRequest for what is none."""
    # upstream 1.36: apiserver/pkg/storage/continue.go
    problem = "invalid continue token: continue key is not valid: "
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"{problem}illegal base64 data at input byte {len(text)}") from error
    try:
        value: Any = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise BadRequest(problem + go_json.complaint(plain)) from error
    version = value.get("v", "") if isinstance(value, dict) else ""
    if version != _FORMAT:
        raise BadRequest(f"{problem}server does not recognize this encoded version {version}")
    if not isinstance(value.get("start"), str) or not value["start"]:
        raise BadRequest(
            "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
        )
    if value["start"].startswith("/") or "/../" in f"/{value['start']}/":
        raise BadRequest(f"invalid continue token: continue key is not valid: {value['start']}")
    revision = value.get("rv", 0)
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 <= revision < 1 << 63:
        raise BadRequest(f"{problem}the revision is not a number")
    return Token(revision, value["start"])
