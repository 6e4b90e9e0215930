"""Rules that proposals add to objects of any kind: gated fields, and checks of types wherever they occur.

A rule names a type; it holds for every value of that type in every object: a rule for PodSpec for pods and for the
templates of deployments alike. `ObjectRules` finds the rules of a kind, `add_rules` adds them to its strategy.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final

from mockkube.api.errors import Internal
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.schema import Schema, Shape, TypeNode
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.extensions import ItemValidator
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

# Returns the errors of an update: of the new object, given the stored one.
Transition = Callable[[ReadOnlyObject, ReadOnlyObject], list[FieldError]]
# Group and kind.
KindName = tuple[str, str]
_LOG: Final = logging.getLogger("mockkube.api")
_LIST_INDEX: Final = re.compile(r"\[[^]]*\]")


@dataclass(frozen=True, slots=True)
class GatedField:
    """A field of a type. With its gate off it is rejected or, without `refuse`, dropped; in-use values stay."""

    definition: str
    name: str
    gate: str
    check: ItemValidator | None = None
    refuse: ItemValidator | None = None


@dataclass(frozen=True, slots=True)
class GatedCheck:
    """A check of a type, or of the objects of a kind, while its gate is on.

    With `ratchets`, an update may keep errors that the stored object already has.
    """

    target: str | KindName
    gate: str
    check: ItemValidator | None = None
    transition: Transition | None = None
    ratchets: bool = True


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A value of a type, and its path in the object."""

    definition: str
    value: Object
    at: str


@dataclass(slots=True, eq=False)
class KindRules:
    """The rules for objects of one kind."""

    rules: "ObjectRules"
    fields: tuple[GatedField, ...]
    checks: tuple[GatedCheck, ...]

    def drop_disabled_fields(self, new: Object, old: ReadOnlyObject | None, caps: Capabilities) -> None:
        """Remove the fields whose gate is off, unless the stored object uses them."""
        off = [one for one in self.fields if one.refuse is None and not caps.enabled(one.gate)]
        if not off:
            return
        used = self._fields_in_use(old)
        for found in self.rules.find_occurrences(new):
            for one in off:
                if one.definition == found.definition and one not in used:
                    found.value.pop(one.name, None)

    def validate(self, new: ReadOnlyObject, old: ReadOnlyObject | None, caps: Capabilities) -> list[FieldError]:
        """Return the errors of an object; on an update, only those that the stored object does not have."""
        found = [*self._validate_fields(new, old, caps)]
        for one in self.checks:
            if caps.enabled(one.gate):
                found += self._run_object_check(one, new, old)
        return found

    def _fields_in_use(self, old: ReadOnlyObject | None) -> Collection[GatedField]:
        if old is None:
            return ()
        there = {(one.definition, name) for one in self.rules.find_occurrences(old) for name in one.value}
        return [one for one in self.fields if (one.definition, one.name) in there]

    def _validate_fields(
        self, new: ReadOnlyObject, old: ReadOnlyObject | None, caps: Capabilities
    ) -> Iterator[FieldError]:
        used = self._fields_in_use(old)
        for one in self.fields:
            check = one.check if caps.enabled(one.gate) or one in used else one.refuse
            if check is not None:
                yield from _drop_known_errors(
                    self._run_field_check(check, one, new), self._run_field_check(check, one, old) if old else ()
                )

    def _run_field_check(self, check: ItemValidator, field_rule: GatedField, obj: ReadOnlyObject) -> list[FieldError]:
        return [
            error
            for found in self.rules.find_occurrences(obj)
            if found.definition == field_rule.definition and field_rule.name in found.value
            for error in _call_check(field_rule.gate, check, found.value, found.at)
        ]

    def _run_object_check(
        self, rule: GatedCheck, new: ReadOnlyObject, old: ReadOnlyObject | None
    ) -> Iterator[FieldError]:
        if rule.check is not None:
            before = self._find_errors(rule, rule.check, old) if old is not None and rule.ratchets else ()
            yield from _drop_known_errors(self._find_errors(rule, rule.check, new), before)
        if rule.transition is not None and old is not None:
            yield from _call_check(rule.gate, rule.transition, new, old)

    def _find_errors(self, rule: GatedCheck, check: ItemValidator, obj: ReadOnlyObject) -> list[FieldError]:
        if not isinstance(rule.target, str):
            return _call_check(rule.gate, check, obj, "")
        found = (one for one in self.rules.find_occurrences(obj) if one.definition == rule.target)
        return [error for one in found for error in _call_check(rule.gate, check, one.value, one.at)]


def _call_check(gate: str, check: Callable[..., list[FieldError]], *about: Any) -> list[FieldError]:
    """Call a check of a proposal; raise Internal with its gate if it fails, for its author to find."""
    try:
        return _trim_paths(check(*about))
    except Exception as error:
        _LOG.exception("a check of %s failed", gate)
        raise Internal(f"a check of {gate} failed: {type(error).__name__}: {error}") from error


def _trim_paths(errors: Sequence[FieldError]) -> list[FieldError]:
    """Remove the leading dot of paths: a check that writes `f"{at}.spec"` may validate a whole object."""
    return [replace(error, field=error.field.removeprefix(".")) for error in errors]


def _drop_known_errors(errors: Sequence[FieldError], before: Sequence[FieldError]) -> Iterator[FieldError]:
    """Yield the errors that the stored object does not have, at any index of a list."""
    # Indexes are left out: inserting an item before a bad one must not turn an old error into a new one.
    known = {_LIST_INDEX.sub("[]", str(error)) for error in before}
    return (error for error in errors if _LIST_INDEX.sub("[]", str(error)) not in known)


@dataclass(slots=True, eq=False)
class ObjectRules:
    """Rules of one version, and which of them apply to the objects of a kind."""

    # Types of the version; None if there are no rules.
    schema: Schema | None = None
    fields: tuple[GatedField, ...] = ()
    checks: tuple[GatedCheck, ...] = ()
    _kinds: dict[KindName, KindRules | None] = field(default_factory=dict)
    # Whether a type contains one that a rule is about, by the identity of its fields.
    _contains_target_by_type: dict[int, bool] = field(default_factory=dict)

    def find_kind_rules(self, kind: KindName) -> KindRules | None:
        """Return the rules for objects of a kind; None if there are none."""
        if self.schema is None:
            return None
        if kind not in self._kinds:
            self._kinds[kind] = self._make_kind_rules(self.schema, kind)
        return self._kinds[kind]

    def _make_kind_rules(self, schema: Schema, kind: KindName) -> KindRules | None:
        reached = {name for node in schema.types_of_kind(*kind) for name in _definitions_in(node)}
        fields = tuple(one for one in self.fields if one.definition in reached)
        checks = tuple(one for one in self.checks if one.target == kind or one.target in reached)
        return KindRules(self, fields, checks) if fields or checks else None

    @property
    def _targets(self) -> Collection[str]:
        return {one.definition for one in self.fields} | {
            one.target for one in self.checks if isinstance(one.target, str)
        }

    def find_occurrences(self, obj: ReadOnlyObject) -> Iterator[Occurrence]:
        """Yield each value in an object whose type has a rule."""
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        node = self.schema.find_kind_type(group, version, str(obj.get("kind", ""))) if self.schema else None
        if node is not None:
            yield from self._walk(node, obj, "", self._targets)

    def _walk(self, node: TypeNode, value: Any, at: str, targets: Collection[str]) -> Iterator[Occurrence]:
        match node.shape:
            case Shape.STRUCT if isinstance(value, dict) and self._contains_target(node, targets):
                if node.definition in targets:
                    yield Occurrence(node.definition, value, at)
                for name, inner in list(value.items()):
                    if (known := node.fields.get(name)) is not None:
                        yield from self._walk(known.node, inner, f"{at}.{name}" if at else name, targets)
            case Shape.LIST if (
                isinstance(value, list) and node.item is not None and self._contains_target(node.item, targets)
            ):
                for index, inner in enumerate(value):
                    yield from self._walk(node.item, inner, f"{at}[{index}]", targets)
            case Shape.MAP if (
                isinstance(value, dict) and node.item is not None and self._contains_target(node.item, targets)
            ):
                for name, inner in value.items():
                    yield from self._walk(node.item, inner, f"{at}[{name}]", targets)

    def _contains_target(self, node: TypeNode, targets: Collection[str]) -> bool:
        """Return whether a type is one of the targets or contains one; other parts are not walked."""
        key = id(node.fields) if node.shape is Shape.STRUCT else id(node)
        if key not in self._contains_target_by_type:
            self._contains_target_by_type[key] = any(name in targets for name in _definitions_in(node))
        return self._contains_target_by_type[key]


def _definitions_in(node: TypeNode) -> Iterator[str]:
    """Yield the names of a type and of all types in it, each once."""
    todo, seen = [node], set[int]()
    while todo:
        one = todo.pop()
        key = id(one.fields) if one.shape is Shape.STRUCT else id(one)
        if key in seen:
            continue
        seen.add(key)
        if one.definition:
            yield one.definition
        if one.item is not None:
            todo.append(one.item)
        todo += [known.node for known in one.fields.values()]


NO_RULES: Final = ObjectRules()


class StrategyWithRules(Strategy):
    """Strategy of a kind, extended by rules for the kind."""

    # The kind's own strategy, called instead of `super()`: kinds call their own hooks from one another.
    kind_strategy: Strategy
    object_rules: KindRules

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop disabled fields, then prepare the object as the kind does."""
        self.object_rules.drop_disabled_fields(obj, None, context.caps)
        self.kind_strategy.prepare_for_create(obj, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop disabled fields, then prepare the object as the kind does."""
        # Before the kind compares the specs: a dropped field is no change, and must not raise the generation.
        self.object_rules.drop_disabled_fields(new, old, context.caps)
        self.kind_strategy.prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a new object by the kind's own rules, then by these."""
        return [*self.kind_strategy.validate(obj, context), *self.object_rules.validate(obj, None, context.caps)]

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate an update by the kind's own rules, then by these."""
        return [
            *self.kind_strategy.validate_update(new, old, context),
            *self.object_rules.validate(new, old, context.caps),
        ]


def add_rules(strategy: Strategy, rules: KindRules) -> Strategy:
    """Return a strategy that also applies these rules; otherwise it behaves like the given one."""
    kind = type(strategy)
    # A subclass made on the fly keeps isinstance checks for the kind's own strategy class true.
    ruled: StrategyWithRules = object.__new__(type(kind.__name__, (StrategyWithRules, kind), {"__doc__": kind.__doc__}))
    ruled.__dict__.update(strategy.__dict__)
    ruled.kind_strategy, ruled.object_rules = strategy, rules
    return ruled
