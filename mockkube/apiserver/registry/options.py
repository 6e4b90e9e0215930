"""Options of each verb, parsed from query parameters or the body, and validated."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

from mockkube.api import fields
from mockkube.api.errors import BadRequest, Invalid
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors import fields as field_selectors
from mockkube.api.selectors import labels as label_selectors
from mockkube.api.selectors.fields import FieldSelector
from mockkube.api.selectors.labels import LabelSelector
from mockkube.lazy_dataclasses import dataclass

S = TypeVar("S")
Query = Mapping[str, Sequence[str]]
FIELD_MANAGER_MAX: Final = 128
_DIGITS_MAX: Final = 20
_DURATION: Final = re.compile(r"[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_NUMBER: Final = re.compile(r"\d+(\.\d*)?|\.\d+")
_FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_PROPAGATION_POLICIES: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None
    # Whether a creation returns when the watch cache has the object. If not, the caller waits, once for several.
    waits_for_cache: bool = True


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of delete and deletecollection."""

    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    # Whether the kind orphans its dependents if neither options nor finalizers set a policy.
    orphans_by_default: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list and watch."""

    labels: LabelSelector = field(default_factory=lambda: label_selectors.parse(""))
    fields: FieldSelector = field(default_factory=lambda: field_selectors.parse(""))
    watch: bool = False
    bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial: bool | None = None


def first_value(query: Query, name: str) -> str:
    """Return the first value of a parameter; empty if there is none."""
    values = query.get(name)
    return values[0] if values else ""


def parse_bool(query: Query, name: str) -> bool:
    """Return a boolean parameter as upstream parses it: everything but `false` and `0` is true."""
    # upstream 1.36: apimachinery/pkg/runtime/converter.go
    return name in query and first_value(query, name).lower() not in ("false", "0")


def parse_optional_int(query: Query, name: str) -> int | None:
    """Return a 64-bit integer parameter; raise BadRequest with Go's text if it is malformed."""
    text = first_value(query, name)
    if text == "":
        return None
    return parse_int(text)


def parse_int(text: str) -> int:
    """Parse an integer as `strconv.ParseInt` does."""
    digits = text[1:] if text[:1] in "+-" else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    # The length is checked first: Python refuses to convert very long numbers with an error of its own.
    if len(digits.lstrip("0")) > _DIGITS_MAX or not -(1 << 63) <= int(text) < 1 << 63:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def validate_timeout(query: Query) -> None:
    """Raise BadRequest for a `timeout` that is no duration."""
    # upstream 1.36: apiserver/pkg/endpoints/filters/request_deadline.go
    text = first_value(query, "timeout")
    if text and not _DURATION.fullmatch(text):
        raise BadRequest(f"invalid timeout specified in the request URL - {_duration_error(text)}")


def _duration_error(text: str) -> str:
    """Return Go's error text for a malformed duration."""
    number = _NUMBER.match(text.lstrip("+-"))
    if number is None:
        return f'time: invalid duration "{text}"'
    unit = re.match(r"[^.0-9]*", text.lstrip("+-")[number.end() :])
    if unit is None or not unit[0]:
        return f'time: missing unit in duration "{text}"'
    return f'time: unknown unit "{unit[0]}" in duration "{text}"'


def parse_write_options(query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
    """Parse the options of a write; `kind` names them in errors (`CreateOptions`)."""
    if not query and not apply:
        return WriteOptions()
    manager, validation = first_value(query, "fieldManager"), first_value(query, "fieldValidation")
    dry_run = list(query.get("dryRun", ()))
    force = parse_bool(query, "force") if "force" in query else None
    errors: list[FieldError] = []
    if kind == "PatchOptions":
        if apply and not manager:
            errors.append(fields.required("fieldManager", "is required for apply patch"))
        elif not apply and force is not None:
            errors.append(fields.forbidden("force", "may not be specified for non-apply patch"))
    errors += _validate_field_manager(manager)
    errors += _validate_dry_run(dry_run)
    if validation not in _FIELD_VALIDATIONS:
        errors.append(fields.not_supported("fieldValidation", validation, _FIELD_VALIDATIONS))
    _raise_invalid(kind, errors)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force)


def _validate_field_manager(manager: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > FIELD_MANAGER_MAX:
        errors.append(fields.too_long("fieldManager", FIELD_MANAGER_MAX))
    for position, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(fields.invalid("fieldManager", manager, detail))
    return errors


def _validate_dry_run(dry_run: list[str]) -> list[FieldError]:
    if all(value == "All" for value in dry_run):
        return []
    return [fields.not_supported("dryRun", dry_run, ("All",))]


def _raise_invalid(kind: str, errors: list[FieldError]) -> None:
    if errors:
        raise Invalid("meta.k8s.io", kind, "", errors)


def parse_delete_options(query: Query, body: ReadOnlyObject | None) -> DeleteOptions:
    """Parse the options of a deletion, from the body if there is one, else from the query."""
    given = _parse_delete_query(query) if body is None else body
    orphan, propagation = given.get("orphanDependents"), given.get("propagationPolicy")
    errors: list[FieldError] = []
    if orphan is not None and propagation is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fields.invalid("propagationPolicy", propagation, detail))
    if propagation is not None and propagation not in _PROPAGATION_POLICIES:
        # Upstream lists "nil" among the supported values.
        errors.append(fields.not_supported("propagationPolicy", propagation, (*_PROPAGATION_POLICIES, "nil")))
    errors += _validate_dry_run(list(given.get("dryRun") or ()))
    _raise_invalid("DeleteOptions", errors)
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(given.get("dryRun")),
        grace_seconds=given.get("gracePeriodSeconds"),
        propagation=propagation,
        orphan_dependents=orphan,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
    )


def _parse_delete_query(query: Query) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if (grace := parse_optional_int(query, "gracePeriodSeconds")) is not None:
        given["gracePeriodSeconds"] = grace
    if "orphanDependents" in query:
        given["orphanDependents"] = parse_bool(query, "orphanDependents")
    if policy := first_value(query, "propagationPolicy"):
        given["propagationPolicy"] = policy
    if "dryRun" in query:
        given["dryRun"] = list(query["dryRun"])
    return given


def parse_list_options(query: Query) -> ListOptions:
    """Parse the options of a list or watch; raise BadRequest if they are malformed."""
    if not query:
        return ListOptions()
    labels = _parse_selector(label_selectors.parse, first_value(query, "labelSelector"))
    selected = _parse_selector(field_selectors.parse, first_value(query, "fieldSelector"))
    return ListOptions(
        labels=labels,
        fields=selected,
        watch=parse_bool(query, "watch"),
        bookmarks=parse_bool(query, "allowWatchBookmarks"),
        resource_version=first_value(query, "resourceVersion"),
        resource_version_match=first_value(query, "resourceVersionMatch"),
        timeout_seconds=parse_optional_int(query, "timeoutSeconds"),
        limit=parse_optional_int(query, "limit") or 0,
        continue_token=first_value(query, "continue"),
        send_initial=parse_bool(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
    )


def validate_list_options(options: ListOptions) -> None:
    """Raise Invalid for combinations of options that are not allowed."""
    _raise_invalid("ListOptions", _validate_watch(options) if options.watch else _validate_list(options))


def _parse_selector(parse: Callable[[str], S], text: str) -> S:
    try:
        return parse(text)
    except ValueError as error:
        raise BadRequest(str(error)) from error


def _validate_list(options: ListOptions) -> list[FieldError]:
    # upstream 1.36: apimachinery/pkg/apis/meta/internalversion/validation/validation.go
    at, errors = "resourceVersionMatch", []
    if options.resource_version_match:
        if not options.resource_version:
            errors.append(fields.forbidden(at, f"{at} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(fields.forbidden(at, f"{at} is forbidden when continue is provided"))
        if options.resource_version_match not in ("Exact", "NotOlderThan"):
            errors.append(fields.not_supported(at, options.resource_version_match, ("Exact", "NotOlderThan", "")))
        if options.resource_version_match == "Exact" and options.resource_version == "0":
            errors.append(fields.forbidden(at, f'{at} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial is not None:
        errors.append(fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _validate_watch(options: ListOptions) -> list[FieldError]:
    at, errors = "resourceVersionMatch", []
    if options.send_initial is not None and options.resource_version_match != "NotOlderThan":
        errors.append(fields.forbidden(at, f"sendInitialEvents requires setting {at} to NotOlderThan"))
    if options.resource_version_match:
        if options.send_initial is None:
            detail = f"{at} is forbidden for watch unless sendInitialEvents is provided"
            errors.append(fields.forbidden(at, detail))
        if options.resource_version_match != "NotOlderThan":
            errors.append(fields.not_supported(at, options.resource_version_match, ("NotOlderThan",)))
    if options.continue_token:
        # Upstream names resourceVersionMatch here, too, although the continue token is the error.
        errors.append(fields.forbidden(at, f"{at} is forbidden when continue is provided"))
    return errors


def parse_resource_version(resource_version: str) -> int:
    """Return the store revision of a resourceVersion; 0 for an empty one or "0"."""
    if resource_version in ("", "0"):
        return 0
    digits = resource_version.isascii() and resource_version.isdigit()
    if not digits or len(resource_version) > _DIGITS_MAX or int(resource_version) >= 1 << 64:
        why = "value out of range" if digits else "invalid syntax"
        raise BadRequest(
            f'invalid resource version: resourceVersion: Invalid value: "{resource_version}": '
            f'strconv.ParseUint: parsing "{resource_version}": {why}'
        )
    return int(resource_version)
