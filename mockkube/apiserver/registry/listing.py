"""List objects: consistent and stale reads, selectors, pages and continue tokens."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import BadRequest, Expired, Timeout
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.continue_token import NEWEST_REVISION, ContinueToken, decode_continue_token
from mockkube.apiserver.registry.options import ListOptions, parse_resource_version
from mockkube.apiserver.registry.resource import Resource
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN

# Selecting from this many objects runs off the event loop even if all of them are decoded already.
_SELECTION_COUNT_MAX: Final = 5000
_TOKEN_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "  # noqa: S105
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class ListResult:
    """Page of a list: objects at one revision."""

    items: Sequence[CachedObject]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def build_filter(resource: Resource, options: ListOptions) -> Callable[[CachedObject], bool] | None:
    """Return the filter of a list's selectors; None if every object matches."""
    labels, fields = options.labels, options.fields
    if not fields.is_empty:  # else the kind's strategy need not be imported
        validate_field_selector(resource, options)
    if labels.is_empty and fields.is_empty:
        return None
    if fields.is_empty:
        return lambda cached: labels.matches(cached.labels)
    if labels.is_empty:
        return lambda cached: fields.matches(cached.fields)
    return lambda cached: labels.matches(cached.labels) and fields.matches(cached.fields)


def validate_field_selector(resource: Resource, options: ListOptions) -> None:
    """Raise BadRequest for a field selector that the kind does not support."""
    strategy, version = resource.strategy, resource.dependencies.capabilities.version
    later = {name for name, since in strategy.selectable_since.items() if version < since}
    known = {"metadata.name", *strategy.selectable_field_names} - later
    if resource.kind.namespaced:
        known.add("metadata.namespace")
    for requirement in options.fields.requirements:
        if requirement.field not in known:
            raise BadRequest(unsupported_field_message(resource, requirement.field))


def unsupported_field_message(resource: Resource, name: str) -> str:
    """Return the error text for an unsupported field selector."""
    # Upstream words it differently for kinds with a conversion function of their own and for those with the default
    # one.
    if resource.group == "resource.k8s.io" and resource.strategy.selectable_field_names:
        return f"field label not supported for {resource.api_version}, Kind={resource.kind.kind}: {name}"
    if resource.strategy.selectable_field_names or resource.accepts_other_kinds:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


async def list_page(resource: Resource, namespace: str, options: ListOptions) -> ListResult:
    """Return one page of a list."""
    matches = build_filter(resource, options)
    prefix = resource.prefix(namespace)
    if options.continue_token:
        token = decode_continue_token(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
        start = prefix + token.start
        if token.revision > 0:
            return await _list_at_revision(resource, prefix, token.revision, start, matches, options.limit)
        await resource.dependencies.watch_cache.wait_until_fresh()
        return await _list_newest(resource, prefix, start, matches, options.limit)
    revision = parse_resource_version(options.resource_version)
    cache = resource.dependencies.watch_cache
    # Upstream: a limit together with a resourceVersion means Exact unless resourceVersionMatch says otherwise.
    if options.resource_version_match == "Exact" or (revision and options.limit and not options.resource_version_match):
        return await _list_at_revision(resource, prefix, revision, "", matches, options.limit)
    if revision:
        await wait_for_revision(resource, revision)
    elif options.resource_version != "0":
        await cache.wait_until_fresh()
    # With resourceVersion "0" upstream answers from the watch cache, which ignores limits.
    limit = 0 if options.resource_version == "0" else options.limit
    return await _list_newest(resource, prefix, "", matches, limit, reconvert=options.resource_version != "0")


async def _list_newest(
    resource: Resource,
    prefix: str,
    start: str,
    matches: Callable[[CachedObject], bool] | None,
    limit: int,
    *,
    reconvert: bool = True,
) -> ListResult:
    """List the objects in the cache, from a key on if one is given."""
    # Nothing may be awaited between reading the objects and the revision, or they would not belong together.
    cached_objects, revision = resource.collection.range(prefix, start), resource.dependencies.watch_cache.revision
    cached_objects = await resource.convert_all_for_reading(cached_objects, reconvert=reconvert)
    return await _select_page_off_loop(resource, cached_objects, prefix, revision, matches, limit)


async def wait_for_revision(resource: Resource, revision: int) -> None:
    """Wait until the cache has a revision; raise Timeout if the store has not reached it."""
    dependencies = resource.dependencies
    if revision > await dependencies.store.current_revision():
        raise _version_too_large(revision, dependencies.watch_cache.revision)
    await dependencies.watch_cache.wait_until_at(revision)


def _version_too_large(requested: int, current: int) -> Timeout:
    details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return Timeout(message, details={**details, "retryAfterSeconds": 1}, retry_after_seconds=1)


async def _list_at_revision(
    resource: Resource,
    prefix: str,
    revision: int,
    start: str,
    matches: Callable[[CachedObject], bool] | None,
    limit: int,
) -> ListResult:
    """List the objects at a revision: from the cache if nothing changed since, else from the store's history."""
    dependencies = resource.dependencies
    if revision > await dependencies.store.current_revision():
        raise _version_too_large(revision, dependencies.watch_cache.revision)
    collection = resource.collection
    if collection.revision <= revision <= dependencies.watch_cache.revision:
        cached = await resource.convert_all_for_reading(collection.range(prefix, start), reconvert=True)
        return await _select_page_off_loop(resource, cached, prefix, revision, matches, limit)
    try:
        stored = await dependencies.store.list(prefix, start=start, revision=revision)
    except store_errors.Compacted as error:
        if start:
            newest = ContinueToken(NEWEST_REVISION, start[len(prefix) :]).encode()
            raise Expired(_TOKEN_EXPIRED, continue_token=newest) from error
        raise Expired("The resourceVersion for the provided list is too old.") from error
    every = await resource.convert_all_for_reading(
        [resource.storage_resource.decode_entry(entry) for entry in stored.entries], reconvert=True
    )
    return await _select_page_off_loop(resource, every, prefix, revision, matches, limit)


async def _select_page_off_loop(
    resource: Resource,
    every: Sequence[CachedObject],
    prefix: str,
    revision: int,
    matches: Callable[[CachedObject], bool] | None,
    limit: int,
) -> ListResult:
    """Select a page; off the event loop if many objects must be decoded for it."""
    size = selection_bytes(every) if matches is not None else 0
    return await resource.dependencies.heavy_work.run(
        size, partial(_select_page, every, prefix, revision, matches, limit)
    )


def selection_bytes(cached_objects: Sequence[CachedObject]) -> int:
    """Return how many bytes must be decoded to select from these objects."""
    return (
        HEAVY_BYTES_MIN
        if len(cached_objects) >= _SELECTION_COUNT_MAX
        else sum([cached.undecoded_bytes for cached in cached_objects])
    )


def _select_page(
    every: Sequence[CachedObject],
    prefix: str,
    revision: int,
    matches: Callable[[CachedObject], bool] | None,
    limit: int,
) -> ListResult:
    """Return the objects that match, up to the limit."""
    if not limit:
        return ListResult(every if matches is None else [cached for cached in every if matches(cached)], revision)
    shown: list[CachedObject] = []
    for count, cached in enumerate(every, 1):
        if matches is None or matches(cached):
            shown.append(cached)
            if len(shown) == limit and count < len(every):
                # The NUL byte makes this the smallest key after the last one of the page.
                token = ContinueToken(revision, cached.key[len(prefix) :] + "\x00")
                # Like upstream, the remaining items are only counted for lists without selectors.
                return ListResult(shown, revision, token.encode(), len(every) - count if matches is None else None)
    return ListResult(shown, revision)
