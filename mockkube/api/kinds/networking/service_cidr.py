"""ServiceCIDR: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import elements, name_of
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, Strategy, StrategyContext
from mockkube.api.validation.addresses import parse_cidr, validate_cidr
from mockkube.api.validation.status_metadata import reset_metadata_for_status

_CIDRS_PATH = "spec.cidrs"
_IMMUTABLE = "field is immutable"
# Until 1.35, and with the gate off, users can set the status with the object.
_WIPING: Final = "ServiceCIDRStatusFieldWiping"


class ServiceCIDRStrategy(StatusStrategy):
    """Strategy of ServiceCIDR: one CIDR, or one for each IP family."""

    tracks_generation = False

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status, if the gate says so."""
        if context.caps.enabled(_WIPING):
            super().prepare_for_create(obj, context)
        else:
            Strategy.prepare_for_create(self, obj, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status, if the gate says so, or the stored spec."""
        if context.subresource == "status" or context.caps.enabled(_WIPING):
            super().prepare_for_update(new, old, context)
        else:
            Strategy.prepare_for_update(self, new, old, context)

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the CIDRs."""
        cidrs = _cidrs(obj)
        if not cidrs:
            return [required(_CIDRS_PATH, "at least one CIDR required")]
        if len(cidrs) > 2:
            return [invalid(_CIDRS_PATH, {"CIDRs": cidrs}, "may only hold up to 2 values")]
        errors = [error for i, cidr in enumerate(cidrs) for error in validate_cidr(cidr, f"{_CIDRS_PATH}[{i}]")]
        parsed = [parse_cidr(cidr) for cidr in cidrs]
        first, second = parsed[0], parsed[-1]
        if len(cidrs) == 2 and first is not None and second is not None and first.version == second.version:
            detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            errors.append(invalid(_CIDRS_PATH, cidrs, detail))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject changes, except that a second CIDR may be added."""
        if context.subresource == "status":
            return []
        cidrs, before = _cidrs(new), _cidrs(old)
        if len(cidrs) == len(before):
            pairs = enumerate(zip(cidrs, before, strict=True))
            return [invalid(f"{_CIDRS_PATH}[{i}]", cidr, _IMMUTABLE) for i, (cidr, was) in pairs if cidr != was]
        # A single-stack cluster may become dual-stack; there is no way back, as addresses may be in use.
        if len(before) != 1 or len(cidrs) != 2:
            return [invalid(_CIDRS_PATH, cidrs or None, _IMMUTABLE)]
        errors = [] if cidrs[0] == before[0] else [invalid(f"{_CIDRS_PATH}[0]", cidrs[0], _IMMUTABLE)]
        return errors + self.validate(new, context)


def _cidrs(obj: ReadOnlyObject) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []


def service_cidr_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ServiceCIDR."""
    return [name_of(obj), ",".join(str(cidr) for cidr in elements(obj, "spec", "cidrs")), format_age(obj, now)]


SERVICE_CIDR = Printer(
    (NAME_COLUMN, text_column("CIDRs", "Address ranges of cluster IPs."), AGE_COLUMN), service_cidr_cells
)

KIND: Final = Kind(
    "networking.k8s.io",
    "ServiceCIDR",
    "servicecidrs",
    namespaced=False,
    versions=("v1", "v1beta1"),
    subresources=(STATUS,),
    strategy=lambda _: ServiceCIDRStrategy(),
    printer=SERVICE_CIDR,
)
