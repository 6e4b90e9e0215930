"""IPAddress: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, section, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.addresses import validate_ip
from mockkube.api.validation.formats import validate_format, validate_subdomain
from mockkube.api.validation.internal_form import InternalShape, to_internal

_PARENT: Final[InternalShape] = (
    ("Group", "group", ""),
    ("Resource", "resource", ""),
    ("Namespace", "namespace", ""),
    ("Name", "name", ""),
)


class IPAddressStrategy(Strategy):
    """Strategy of IPAddress; its parent is immutable."""

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require an IP address in canonical form."""
        return [error.detail for error in validate_ip(name, "")]

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the reference to the parent."""
        parent, at = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
        if parent is None:
            return [required(at)]
        errors = validate_subdomain(parent["group"], f"{at}.group") if parent.get("group") else []
        for name in ("resource", "name"):
            value = parent.get(name)
            errors += (
                validate_format(value, f"{at}.{name}", names.check_path_segment)
                if value
                else [required(f"{at}.{name}")]
            )
        if parent.get("namespace"):
            errors += validate_format(parent["namespace"], f"{at}.namespace", names.check_path_segment)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject another parent."""
        errors = self.validate(new, context)
        parent = (new.get("spec") or {}).get("parentRef")
        if parent != (old.get("spec") or {}).get("parentRef"):
            errors.append(invalid("spec.parentRef", to_internal(parent, _PARENT), "field is immutable"))
        return errors


def ip_address_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an IPAddress; as upstream, with an age that has no column."""
    return [name_of(obj), _format_parent(obj), format_age(obj, now)]


def _format_parent(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "parentRef") is None:
        return NONE
    parent = section(obj, "spec", "parentRef")
    resource, group, namespace = string(parent, "resource"), string(parent, "group"), string(parent, "namespace")
    owner = (f"{resource}.{group}" if group else resource).lower()
    return "/".join([owner, *([namespace] if namespace else []), string(parent, "name")])


IP_ADDRESS = Printer((NAME_COLUMN, text_column("ParentRef", "The object the address belongs to.")), ip_address_cells)

KIND: Final = Kind(
    "networking.k8s.io",
    "IPAddress",
    "ipaddresses",
    namespaced=False,
    short_names=("ip",),
    versions=("v1", "v1beta1"),
    strategy=lambda _: IPAddressStrategy(),
    printer=IP_ADDRESS,
)
