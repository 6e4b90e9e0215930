"""What proposals add to validation: operators and fields that are judged by functions from above this room."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mockkube.api.fields import FieldError, Word, invalid, not_supported
from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities

Check = Callable[[ReadOnlyObject, str], list[FieldError]]
"""Judges an item (a toleration, a requirement) at a path."""


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """An operator behind a gate: how it is judged where it may be used, what it is refused with elsewhere."""

    gate: str
    check: Check
    refuse: Check
    any_values: bool = False
    """Whether values need not be values of labels: `check` alone judges them."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A field behind a gate: an item that has it is judged by this rule alone."""

    gate: str
    check: Check
    refuse: Check


@dataclass(frozen=True, slots=True, eq=False)
class Extensions:
    """The tables proposals fill, by operator or by the name of the field; compared by identity, to be a key."""

    tolerations: Mapping[str, OperatorRule] = field(default_factory=dict)
    toleration_fields: Mapping[str, FieldRule] = field(default_factory=dict)
    node_selectors: Mapping[str, OperatorRule] = field(default_factory=dict)
    device_tolerations: Mapping[str, OperatorRule] = field(default_factory=dict)

    def allowed(
        self, caps: Capabilities, old_tolerations: Iterable[ReadOnlyObject], old_terms: Iterable[ReadOnlyObject]
    ) -> frozenset[str]:
        """Return the gates whose operators and fields may be used: those that are on, or used by the stored object."""
        used = set(self._gates_used(old_tolerations, old_terms))
        return frozenset(gate for gate in self._gates() if gate in used or caps.enabled(gate))

    def _gates(self) -> Iterator[str]:
        for table in (self.tolerations, self.toleration_fields, self.node_selectors):
            for rule in table.values():
                yield rule.gate

    def _gates_used(self, tolerations: Iterable[ReadOnlyObject], terms: Iterable[ReadOnlyObject]) -> Iterator[str]:
        for toleration in tolerations:
            yield from (rule.gate for name, rule in self.toleration_fields.items() if name in toleration)
            if rule := self.tolerations.get(toleration.get("operator", "")):
                yield rule.gate
        for term in terms:
            for requirement in term.get("matchExpressions", ()):
                if rule := self.node_selectors.get(requirement.get("operator", "")):
                    yield rule.gate


NO_EXTENSIONS: Final = Extensions()


def unsupported_toleration(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Refuse an operator of tolerations as one nobody knows."""
    return [not_supported(f"{at}.operator", toleration.get("operator", ""), ("Equal", "Exists"))]


def unknown_requirement(requirement: ReadOnlyObject, at: str) -> list[FieldError]:
    """Refuse an operator of node selectors as one nobody knows."""
    return [invalid(f"{at}.operator", Word(requirement.get("operator", "")), "not a valid selector operator")]
