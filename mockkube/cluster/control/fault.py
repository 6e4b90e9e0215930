"""Faults: validation and printer columns. Their injection is in `cluster/faults`."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, integer_column, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.cluster.configuration.values import check_component

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
DELAY_SECONDS_MAX: Final = 3600.0

_EVENT_EFFECTS: Final = ("holdEvents", "missEvents", "repeatEvents")
_EFFECTS: Final = ("status", "dropWatch", "expired", "staleReads", *_EVENT_EFFECTS)
_API_SERVER: Final = "kube-apiserver"
_REVISION: Final = re.compile(r"[1-9][0-9]{0,18}")


class FaultStrategy(StatusStrategy):
    """Strategy of faults: an effect, a delay, or both; the revision of stale reads is fixed when they are requested."""

    def __init__(self, revision: Callable[[], int]) -> None:
        # Returns the revision of the cluster's store.
        self._get_revision = revision

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Record the present revision for stale reads."""
        super().prepare_for_create(obj, context)
        if _is_stale(obj):
            obj["status"]["revision"] = self._find_stale_revision(obj)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Record the present revision if the reads become stale by this update."""
        super().prepare_for_update(new, old, context)
        if _is_stale(new) and new["spec"]["inject"] != old["spec"]["inject"]:
            new["status"] = {**new["status"], "revision": self._find_stale_revision(new)}

    def _find_stale_revision(self, obj: ReadOnlyObject) -> int:
        given = obj["spec"]["inject"].get("resourceVersion", "")
        return int(given) if _REVISION.fullmatch(given) else self._get_revision()

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec."""
        spec = obj["spec"]
        return [
            *_validate_match(spec.get("match", {})),
            *_validate_injection(spec.get("inject", {})),
            *_validate_webhook(spec.get("match", {}), spec.get("inject", {})),
            *_validate_amount(spec),
        ]

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec if it changes."""
        return [] if new["spec"] == old["spec"] else self.validate(new, context)


def _is_stale(obj: ReadOnlyObject) -> bool:
    return bool(obj["spec"].get("inject", {}).get("staleReads"))


def _validate_match(match: ReadOnlyObject) -> list[FieldError]:
    found = [*_validate_name(match, "component"), *_validate_name(match, "server")]
    if "server" in match and not found and match["server"].partition(".")[0] != _API_SERVER:
        found.append(invalid("spec.match.server", match["server"], f"is no API server: give {_API_SERVER}[.N]"))
    for index, verb in enumerate(match.get("verbs", ())):
        if verb not in (*VERBS, "*"):
            found.append(not_supported(f"spec.match.verbs[{index}]", verb, (*VERBS, "*")))
    return found


def _validate_webhook(match: ReadOnlyObject, inject: ReadOnlyObject) -> list[FieldError]:
    """Check a fault of webhooks: they can only be slow or fail, and know the request by its AdmissionReview."""
    if not match.get("webhook"):
        return []
    matched = [name for name in ("component", "userAgent", "fromCache") if match.get(name)]
    injected = [name for name in (*_EFFECTS[1:], "afterEffect") if inject.get(name)]
    return [
        *(forbidden(f"spec.match.{name}", "may not go with webhook: match user") for name in matched),
        *(
            forbidden(f"spec.inject.{name}", "may not go with webhook: give delaySeconds or status")
            for name in injected
        ),
    ]


def _validate_name(match: ReadOnlyObject, field: str) -> list[FieldError]:
    try:
        check_component(match.get(field, _API_SERVER))
    except ValueError as error:
        return [invalid(f"spec.match.{field}", match[field], str(error))]
    return []


def _validate_injection(inject: ReadOnlyObject) -> list[FieldError]:
    given = [name for name in _EFFECTS if inject.get(name)]
    if not given and not inject.get("delaySeconds"):
        return [required("spec.inject", f"give one of delaySeconds, {', '.join(_EFFECTS)}")]
    found = [forbidden(f"spec.inject.{name}", f"may not go with {given[0]}") for name in given[1:]]
    delay = inject.get("delaySeconds", 0)
    if not 0 <= delay <= DELAY_SECONDS_MAX:
        found.append(invalid("spec.inject.delaySeconds", delay, f"must be from 0 to {DELAY_SECONDS_MAX:.0f}"))
    if inject.get("afterEffect") and "status" not in inject:
        found.append(forbidden("spec.inject.afterEffect", "goes with status only"))
    return [*found, *_validate_revision(inject), *_validate_answer(inject.get("status", {"code": 500}))]


def _validate_revision(inject: ReadOnlyObject) -> list[FieldError]:
    if "resourceVersion" not in inject:
        return []
    if not inject.get("staleReads"):
        return [forbidden("spec.inject.resourceVersion", "goes with staleReads only")]
    given = inject["resourceVersion"]
    wrong = _REVISION.fullmatch(given) is None
    return [invalid("spec.inject.resourceVersion", given, "must be that of a list")] if wrong else []


def _validate_answer(answer: ReadOnlyObject) -> list[FieldError]:
    code, after = answer.get("code", 0), answer.get("retryAfterSeconds", 0)
    found = [] if 400 <= code <= 599 else [_make_range_error("inject.status.code", code, "from 400 to 599")]
    return found if after >= 0 else [*found, _make_range_error("inject.status.retryAfterSeconds", after, "0 or more")]


def _validate_amount(spec: ReadOnlyObject) -> list[FieldError]:
    count, share = spec.get("count"), spec.get("share")
    found = [_make_range_error("count", count, "1 or more")] if count is not None and count < 1 else []
    if share is not None and not 0 < share <= 1:
        found.append(_make_range_error("share", share, "more than 0 and at most 1"))
    if (skip := spec.get("skip", 0)) < 0:
        found.append(_make_range_error("skip", skip, "0 or more"))
    return found


def _make_range_error(field: str, value: Any, allowed: str) -> FieldError:
    return invalid(f"spec.{field}", value, f"must be {allowed}")


def _make_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        obj["metadata"].get("name", ""),
        _format_match(spec.get("match", {})),
        _format_injection(spec.get("inject", {})),
        str(spec["count"]) if "count" in spec else NONE,
        status.get("injected", 0),
        status.get("phase", ""),
        format_time_since(obj["metadata"].get("creationTimestamp", ""), now),
    ]


def _format_match(match: ReadOnlyObject) -> str:
    """Return the match in a few words, like `kube-scheduler get,list pods`."""
    words = [
        ",".join(value) if isinstance(value, list) else name if value is True else str(value)
        for name, value in match.items()
        if value
    ]
    return " ".join(words) or "*"


def _format_injection(inject: ReadOnlyObject) -> str:
    words = [f"{inject['delaySeconds']:g}s"] if inject.get("delaySeconds") else []
    if "status" in inject:
        words.append(f"{inject['status'].get('code', '')}{' afterEffect' * bool(inject.get('afterEffect'))}")
    return "+".join([*words, *(name for name in _EFFECTS[1:] if inject.get(name))])


PRINTER: Final = Printer(
    (
        NAME_COLUMN,
        text_column("Match", "Requests that the fault matches."),
        text_column("Inject", "Effect of the fault."),
        text_column("Count", "Maximum number of injections."),
        integer_column("Injected", "Number of injections."),
        text_column("Phase", "Active or Exhausted."),
        AGE_COLUMN,
    ),
    _make_cells,
)
