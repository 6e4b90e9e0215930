"""Extensions of validation by proposals: operators and fields behind gates, validated by passed functions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from mockkube.api.fields import FieldError, TypedString, invalid, not_supported
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

# Validates an item (a toleration, a requirement) at a path.
ItemValidator = Callable[[ReadOnlyObject, str], list[FieldError]]


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """An operator behind a gate: its validation while the gate allows it, and its error otherwise."""

    gate: str
    check: ItemValidator
    refuse: ItemValidator
    # True if values need not be label values: only `check` validates them.
    any_values: bool = False


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A field behind a gate: only this rule validates an item that has the field."""

    gate: str
    check: ItemValidator
    refuse: ItemValidator


@dataclass(frozen=True, slots=True, eq=False)
class ValidationExtensions:
    """Rules of proposals by operator or field name; compared by identity, so that it can be a cache key."""

    tolerations: Mapping[str, OperatorRule] = field(default_factory=dict)
    toleration_fields: Mapping[str, FieldRule] = field(default_factory=dict)
    node_selectors: Mapping[str, OperatorRule] = field(default_factory=dict)
    device_tolerations: Mapping[str, OperatorRule] = field(default_factory=dict)

    def find_allowed_gates(
        self, caps: Capabilities, old_tolerations: Iterable[ReadOnlyObject], old_terms: Iterable[ReadOnlyObject]
    ) -> frozenset[str]:
        """Return the gates whose operators and fields are allowed: enabled ones, and those in use."""
        # Operators that the stored object uses stay valid when the gate is turned off: other updates must remain
        # possible.
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


NO_EXTENSIONS: Final = ValidationExtensions()


def reject_toleration_operator(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject an operator of tolerations as unknown."""
    return [not_supported(f"{at}.operator", toleration.get("operator", ""), ("Equal", "Exists"))]


def reject_requirement_operator(requirement: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject an operator of node selectors as unknown."""
    return [invalid(f"{at}.operator", TypedString(requirement.get("operator", "")), "not a valid selector operator")]
