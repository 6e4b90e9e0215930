"""Attributes such as `a.b[c].?d`: their resolution, and the cost of each qualifier.

upstream 1.36: cel-go interpreter/attributes.go
"""

from dataclasses import dataclass, field
from typing import Any, Final

from mockkube_cel.libraries.conversions import format_double
from mockkube_cel.program import Frame, Run
from mockkube_cel.values import NONE, CelError, Optional, UInt, error_or_no_overload, go_type_name, to_key, type_of

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Qualifier:
    """One step of a path: a constant key, or `compute` for a key that is only known at run time."""

    key: Any = None
    compute: Run | None = None
    optional: bool = False
    test_only: bool = False
    # Name of the field in errors, if it is not the key.
    name: str = ""

    def apply(self, frame: Frame, value: Any, *, lenient: bool) -> Any:
        """Return the value at the key, an error, or `_MISSING` if the key may be absent and is."""
        key = self.key
        if self.compute is not None:
            key = self.compute(frame)
            result = key if type(key) is CelError else _invalid_key_error(key)
        else:
            result = None
        if result is None:
            result = get_element(value, key, lenient=lenient or self.test_only)
            if self.name and type(result) is CelError:
                result = CelError(f"no such key: {self.name}")
        # cel-go does not charge for an optional selection that finds nothing.
        if result is not _MISSING or not lenient or self.test_only:
            frame.cost += 1
            if frame.cost > frame.limit:
                raise frame.exceed_limit()
        if self.test_only and type(result) is not CelError:
            return result is not _MISSING
        return result


def _invalid_key_error(key: Any) -> CelError | None:
    usable = type(key) in (str, int, UInt, bool, float)
    return None if usable else CelError(f"invalid qualifier type: {go_type_name(key)}")


def format_value(value: Any) -> str:
    """Print a value as Go's `%v` does, for messages."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return format_double(value)
        case _:
            return str(value)


def get_element(container: Any, key: Any, *, lenient: bool) -> Any:
    """Return the value at a key or index, else an error, or `_MISSING` with `lenient`."""
    if isinstance(container, dict):
        found = container.get(to_key(key), _MISSING)
        if found is not _MISSING or lenient:
            return found
    elif isinstance(container, list):
        index = _to_list_index(key)
        if type(index) is CelError:
            return index
        if 0 <= index < len(container):
            return container[index]
        return _MISSING if lenient else CelError(f"index out of bounds: {format_value(key)}")
    elif lenient:
        return _MISSING
    return CelError(f"no such key: {format_value(key)}")


def _to_list_index(key: Any) -> Any:
    if type(key) is int:
        return key
    if type(key) is UInt or (type(key) is float and key.is_integer()):
        if -(2**63) <= key < 2**63:
            return int(key)
    elif type(key) is not float:
        return CelError(f"unsupported index type '{type_of(key).name}' in list")
    return CelError(f"unsupported index value {format_value(key)} in list")


@dataclass(slots=True)
class AttributePath:
    """A root and the qualifiers to apply to it; the root is charged by the closure that evaluates it."""

    root: Run
    # Name of the root if it is one of the expression's variables.
    variable: str = ""
    qualifiers: list[Qualifier] = field(default_factory=list)
    own_cost = 1

    def extend(self, qualifier: Qualifier) -> None:
        """Append one qualifier."""
        self.qualifiers.append(qualifier)

    def make_resolver(self) -> Run:
        """Return a closure that resolves the path, without charging for the path itself."""
        root, qualifiers = self.root, tuple(self.qualifiers)
        if not qualifiers:
            return root

        def resolve(frame: Frame) -> Any:
            value = root(frame)
            # A path from an optional root is optional as a whole: its value is wrapped again at the end.
            optional = type(value) is Optional
            if optional:
                if not value.present:
                    return value
                value = value.value
            if type(value) is CelError:
                return value
            for qualifier in qualifiers:
                optional = optional or qualifier.optional
                value = qualifier.apply(frame, value, lenient=optional)
                if type(value) is CelError:
                    return value
                if value is _MISSING or (optional and qualifier.test_only and value is False):
                    return NONE
            return Optional(value) if optional else value

        return resolve

    def make_fast_closure(self) -> Run | None:
        """Return a faster closure, charge included, for a variable and one field; else None."""
        if not self.variable or len(self.qualifiers) != 1:
            return None
        name, qualifier = self.variable, self.qualifiers[0]
        if qualifier.compute is not None or qualifier.optional or qualifier.test_only or qualifier.name:
            return None
        key, resolve = qualifier.key, self.make_resolver()

        def run(frame: Frame) -> Any:  # hot: most paths are taint.key and its like
            value = frame.variables[name]
            if type(value) is Optional:
                result = resolve(frame)
                frame.cost += 1
            else:
                frame.cost += 2
                result = get_element(value, key, lenient=False)
            if frame.cost > frame.limit:
                raise frame.exceed_limit()
            return result

        return run


@dataclass(slots=True)
class ConditionalAttribute:
    """A ternary of two attributes, which can be qualified further; it costs nothing itself."""

    condition: Run
    truthy: "AttributePath | ConditionalAttribute"
    falsy: "AttributePath | ConditionalAttribute"
    own_cost = 0

    def extend(self, qualifier: Qualifier) -> None:
        """Append one qualifier to both attributes."""
        self.truthy.extend(qualifier)
        self.falsy.extend(qualifier)

    def make_resolver(self) -> Run:
        """Return a closure that evaluates the condition and resolves one of the attributes."""
        condition, truthy, falsy = self.condition, self.truthy.make_resolver(), self.falsy.make_resolver()

        def resolve(frame: Frame) -> Any:
            value = condition(frame)
            if value is True:
                return truthy(frame)
            return falsy(frame) if value is False else error_or_no_overload(value)

        return resolve

    def make_fast_closure(self) -> Run | None:
        """Return None: a ternary has no faster closure."""
        return None


Attribute = AttributePath | ConditionalAttribute


def with_charge(attribute: Attribute, *, test_only: bool = False) -> Run:
    """Return a closure that resolves the attribute and charges for it."""
    if not test_only and (short := attribute.make_fast_closure()):
        return short
    resolve = attribute.make_resolver()
    # has() does not pay for the field it tests; its qualifier charges 1, which is taken back here.
    cost = attribute.own_cost - test_only

    def run(frame: Frame) -> Any:
        value = resolve(frame)
        frame.cost += cost
        if frame.cost > frame.limit:
            raise frame.exceed_limit()
        if test_only and type(value) is Optional:
            return value.present
        return value

    return run
