"""Amounts of resources in integers: cpu in millicores, everything else in units or bytes, rounded up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mockkube.api.quantity import parse


@dataclass(slots=True)
class Resources:
    """Amounts that are added to and taken from. A node's sums are changed in place by its owner alone."""

    cpu_milli: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    pods: int = 0
    scalars: dict[str, int] = field(default_factory=dict)
    """Extended resources and huge pages, by name."""

    @classmethod
    def read(cls, amounts: Mapping[str, Any]) -> "Resources":
        """Read a resource list as manifests have it."""
        result = cls()
        for name, text in amounts.items():
            match name:
                case "cpu":
                    result.cpu_milli = milli(text)
                case "memory":
                    result.memory = units(text)
                case "ephemeral-storage":
                    result.ephemeral_storage = units(text)
                case "pods":
                    result.pods = units(text)
                case _:
                    result.scalars[name] = units(text)
        return result

    def amount(self, name: str) -> int:
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
        """Add another's amounts, or with `sign` -1 take them away; `pods` is left alone."""
        self.cpu_milli += sign * other.cpu_milli
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + sign * amount

    def raise_to(self, other: "Resources") -> None:
        """Take another's amount wherever it is greater."""
        self.cpu_milli = max(self.cpu_milli, other.cpu_milli)
        self.memory = max(self.memory, other.memory)
        self.ephemeral_storage = max(self.ephemeral_storage, other.ephemeral_storage)
        for name, amount in other.scalars.items():
            self.scalars[name] = max(self.scalars.get(name, 0), amount)

    def copy(self) -> "Resources":
        """Return amounts of one's own."""
        return Resources(self.cpu_milli, self.memory, self.ephemeral_storage, self.pods, dict(self.scalars))


def milli(text: str | int | float) -> int:
    """Return a quantity in thousandths, rounded up."""
    return _ceiling(text, 1000)


def units(text: str | int | float) -> int:
    """Return a quantity in whole units, rounded up."""
    return _ceiling(text, 1)


def _ceiling(text: str | int | float, scale: int) -> int:
    amount = parse(str(text)).amount * scale
    whole = int(amount)
    return whole + 1 if amount > whole else whole
