"""Resource amounts as 64-bit integers: cpu in millicores, everything else in units or bytes, rounded up."""

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, Final

from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass

_INT64_MAX: Final = 2**63 - 1


@dataclass(slots=True)
class Resources:
    """Amounts of resources (upstream: framework.Resource). Mutable: a node's sums are updated in place."""

    cpu_milli: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    pods: int = 0
    # Extended resources and huge pages, by name.
    scalars: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_resource_list(cls, amounts: Mapping[str, Any]) -> "Resources":
        """Return the amounts of a resource list of an object."""
        return cls.from_amounts(parse_amounts(amounts))

    @classmethod
    def from_amounts(cls, amounts: Mapping[str, Decimal]) -> "Resources":
        """Return exact amounts, rounded up."""
        result = cls()
        for name, amount in amounts.items():
            match name:
                case "cpu":
                    result.cpu_milli = _round_up_to_int64(amount * 1000)
                case "memory":
                    result.memory = _round_up_to_int64(amount)
                case "ephemeral-storage":
                    result.ephemeral_storage = _round_up_to_int64(amount)
                case "pods":
                    result.pods = _round_up_to_int64(amount)
                case _:
                    result.scalars[name] = _round_up_to_int64(amount)
        return result

    def get_amount(self, name: str) -> int:
        """Return the amount of a resource by its name."""
        match name:
            case "cpu":
                return self.cpu_milli
            case "memory":
                return self.memory
            case "ephemeral-storage":
                return self.ephemeral_storage
            case "pods":
                return self.pods
        return self.scalars.get(name, 0)

    def add(self, other: "Resources", sign: int = 1) -> None:
        """Add another's amounts, or subtract them with `sign` -1; `pods` stays unchanged."""
        self.cpu_milli += sign * other.cpu_milli
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + sign * amount

    def copy(self) -> "Resources":
        """Return a copy that can be changed independently."""
        return Resources(self.cpu_milli, self.memory, self.ephemeral_storage, self.pods, dict(self.scalars))


def parse_amounts(amounts: Mapping[str, Any] | None) -> dict[str, Decimal]:
    """Return the exact amounts of a resource list."""
    return {name: parse(str(text)).amount for name, text in amounts.items()} if amounts else {}


def _round_up_to_int64(amount: Decimal) -> int:
    whole = int(amount)
    return max(-_INT64_MAX, min(_INT64_MAX, whole + 1 if amount > whole else whole))
