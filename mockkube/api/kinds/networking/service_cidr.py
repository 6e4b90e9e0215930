"""ServiceCIDR: ranges that cluster IPs come from; a second family may be added later."""

from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.strategy import Judge, StatusStrategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.addresses import parse_cidr, strict_cidr
from mockkube.api.validation.status_metadata import restore_metadata

_AT = "spec.cidrs"
_IMMUTABLE = "field is immutable"


class ServiceCIDRStrategy(StatusStrategy):
    """One range, or one per family."""

    tracks_generation = False

    def prepare_status(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep spec and metadata."""
        super().prepare_status(new, old, judge)
        restore_metadata(new, old)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the ranges."""
        cidrs = _cidrs(obj)
        if not cidrs:
            return [required(_AT, "at least one CIDR required")]
        if len(cidrs) > 2:
            return [invalid(_AT, {"CIDRs": cidrs}, "may only hold up to 2 values")]
        errors = [error for i, cidr in enumerate(cidrs) for error in strict_cidr(cidr, f"{_AT}[{i}]")]
        parsed = [parse_cidr(cidr) for cidr in cidrs]
        first, second = parsed[0], parsed[-1]
        if len(cidrs) == 2 and first is not None and second is not None and first.version == second.version:
            detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            errors.append(invalid(_AT, cidrs, detail))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Refuse changes other than a second range."""
        if judge.subresource == "status":
            return []
        cidrs, before = _cidrs(new), _cidrs(old)
        if len(cidrs) == len(before):
            pairs = enumerate(zip(cidrs, before, strict=True))
            return [invalid(f"{_AT}[{i}]", cidr, _IMMUTABLE) for i, (cidr, was) in pairs if cidr != was]
        if len(before) != 1 or len(cidrs) != 2:
            return [invalid(_AT, cidrs or None, _IMMUTABLE)]
        errors = [] if cidrs[0] == before[0] else [invalid(f"{_AT}[0]", cidrs[0], _IMMUTABLE)]
        return errors + self.validate_create(new, judge)


def _cidrs(obj: ReadOnlyObject) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []
