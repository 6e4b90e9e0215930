"""Lease and LeaseCandidate: strategies, validation and printer columns.

upstream 1.36: pkg/apis/coordination/validation/validation.go
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.heartbeat_times import HeartbeatTimes
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.times import canonicalize_micro_time, parse_micro_time
from mockkube.api.validation.formats import validate_immutable_field, validate_qualified_name

_ELECTION_FIELDS: Final = ("strategy", "preferredHolder")
_OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"
_NUMBER: Final = "(0|[1-9][0-9]*)"
_SEMVER: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def is_expired(lease: ReadOnlyObject, now: datetime) -> bool:
    """Return whether a lease was not renewed for its duration."""
    spec = lease.get("spec") or {}
    renewed, lasts = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    # upstream: a lease without times counts as expired.
    if renewed is None or lasts is None:
        return True
    return parse_micro_time(renewed) + timedelta(seconds=lasts) < now


class LeaseStrategy(Strategy):
    """Strategy of Lease; a PUT may create it and needs a resourceVersion."""

    requires_qualified_finalizers = False
    # A write without resourceVersion could take a lock from its holder unnoticed, so unconditional updates are not
    # allowed.
    allow_create_on_update = True
    allow_unconditional_update = False
    heartbeat_times: Mapping[str, HeartbeatTimes] = {"": {"spec": {"renewTime": canonicalize_micro_time}}}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop the fields of coordinated leader election if its gate is off."""
        if not context.caps.enabled("CoordinatedLeaderElection"):
            for name in _ELECTION_FIELDS:
                obj.get("spec", {}).pop(name, None)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop the fields of coordinated leader election if its gate is off and they are not stored."""
        if not context.caps.enabled("CoordinatedLeaderElection"):
            for name in _ELECTION_FIELDS:
                if name not in (old.get("spec") or {}):
                    new.get("spec", {}).pop(name, None)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate durations and strategy."""
        spec = obj.get("spec") or {}
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        errors = []
        if seconds is not None and seconds <= 0:
            errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        if spec.get("strategy") is not None:
            errors += _validate_strategy(spec["strategy"], "spec.strategy")
        if spec.get("preferredHolder") and not spec.get("strategy"):
            errors.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        return self.validate(new, context)


class LeaseCandidateStrategy(Strategy):
    """Strategy of LeaseCandidate."""

    requires_qualified_finalizers = False
    allow_create_on_update = True
    allow_unconditional_update = False

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Validate the name as a ConfigMap key."""
        return names.check_config_map_key(name)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate versions and strategy."""
        spec = obj.get("spec") or {}
        errors = [] if spec.get("leaseName") else [required("spec.leaseName")]
        emulated, binary = spec.get("emulationVersion", ""), spec.get("binaryVersion", "")
        if emulated:
            errors += _validate_version(emulated, "spec.emulationVersion")
        errors += _validate_version(binary, "spec.binaryVersion") if binary else [required("spec.binaryVersion")]
        if binary and emulated and _parse_semver(binary) < _parse_semver(emulated):
            detail = "must be greater than or equal to `emulationVersion`"
            errors.append(invalid("spec.binaryVersion", binary, detail))
        strategy = spec.get("strategy", "")
        if not strategy:
            return [*errors, required("spec.strategy")]
        if strategy == _OLDEST_EMULATION_VERSION and _parse_semver(emulated) == _parse_semver(""):
            detail = f"must be specified when `strategy` is '{_OLDEST_EMULATION_VERSION}'"
            errors.append(required("spec.emulationVersion", detail))
        return errors + _validate_strategy(strategy, "spec.strategy")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and that the lease name is unchanged."""
        errors = self.validate(new, context)
        return errors + validate_immutable_field(new.get("spec") or {}, old.get("spec") or {}, "leaseName", "spec")


def _validate_strategy(strategy: str, at: str) -> list[FieldError]:
    # The doubled `.strategy` of the path is upstream's.
    if "/" in strategy:
        return validate_qualified_name(strategy, f"{at}.strategy")
    return (
        []
        if strategy == _OLDEST_EMULATION_VERSION
        else [not_supported(f"{at}.strategy", strategy, (_OLDEST_EMULATION_VERSION,))]
    )


def _validate_version(text: str, at: str) -> list[FieldError]:
    return [] if _SEMVER.fullmatch(text) else [invalid(at, text, "must be a valid semantic version")]


def _parse_semver(text: str) -> tuple[int, int, int, bool, list[tuple[int, str]]]:
    """Return a sort key of a semantic version; that of 0.0.0 if it is malformed."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        return 0, 0, 0, True, []
    identifiers = (match[4] or "")[1:].split(".") if match[4] else []
    # Numbers compare as numbers and rank below texts, which compare as texts. A release ranks above its prereleases.
    ranked = [(int(part), "") if part.isdigit() else (2**63, part) for part in identifiers]
    return int(match[1]), int(match[2]), int(match[3]), not ranked, ranked


def lease_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Lease."""
    return [name_of(obj), string(obj, "spec", "holderIdentity"), format_age(obj, now)]


def lease_candidate_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a LeaseCandidate."""
    shown = [string(obj, "spec", key) for key in ("leaseName", "binaryVersion", "emulationVersion")]
    return [name_of(obj), *shown, format_age(obj, now)]


LEASE = Printer((NAME_COLUMN, text_column("Holder", "Identity of the holder."), AGE_COLUMN), lease_cells)
LEASE_CANDIDATE = Printer(
    (
        NAME_COLUMN,
        text_column("LeaseName", "The lease that the candidate wants to hold."),
        text_column("BinaryVersion", "Binary version of the candidate."),
        text_column("EmulationVersion", "Emulation version of the candidate."),
        AGE_COLUMN,
    ),
    lease_candidate_cells,
)

LEASE_KIND: Final = Kind("coordination.k8s.io", "Lease", "leases", strategy=lambda _: LeaseStrategy(), printer=LEASE)
LEASE_CANDIDATE_KIND: Final = Kind(
    "coordination.k8s.io",
    "LeaseCandidate",
    "leasecandidates",
    versions=("v1beta1", "v1alpha2"),
    strategy=lambda _: LeaseCandidateStrategy(),
    printer=LEASE_CANDIDATE,
)
