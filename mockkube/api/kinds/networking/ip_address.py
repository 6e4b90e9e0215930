"""IPAddress: an address named by itself, and the object it belongs to."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.kinds.internal_form import Shape, internal
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.addresses import strict_ip
from mockkube.api.validation.formats import formed, subdomain

_PARENT: Final[Shape] = (
    ("Group", "group", ""),
    ("Resource", "resource", ""),
    ("Namespace", "namespace", ""),
    ("Name", "name", ""),
)


class IPAddressStrategy(Strategy):
    """An address in use, always by the same object."""

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """The name is the address in canonical form."""
        return [error.detail for error in strict_ip(name, "")]

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the reference."""
        parent, at = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
        if parent is None:
            return [required(at)]
        errors = subdomain(parent["group"], f"{at}.group") if parent.get("group") else []
        for name in ("resource", "name"):
            value = parent.get(name)
            errors += formed(value, f"{at}.{name}", names.path_segment) if value else [required(f"{at}.{name}")]
        if parent.get("namespace"):
            errors += formed(parent["namespace"], f"{at}.namespace", names.path_segment)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge as on creation, and refuse another owner."""
        errors = self.validate_create(new, judge)
        parent = (new.get("spec") or {}).get("parentRef")
        if parent != (old.get("spec") or {}).get("parentRef"):
            errors.append(invalid("spec.parentRef", internal(parent, _PARENT), "field is immutable"))
        return errors
