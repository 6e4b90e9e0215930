"""Unification of types: substitutions of type parameters, and assignability.

upstream 1.36: cel-go checker/types.go
"""

from collections.abc import Sequence

from mockkube_cel.types import DYN, CelType, Kind

# Types by which type parameters, and types in which they occur, are replaced (cel-go: mapping).
Substitutions = dict[CelType, CelType]

_NULLABLE = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


def unify(mapping: Substitutions, first: Sequence[CelType], second: Sequence[CelType]) -> Substitutions | None:
    """Return the substitutions with which types match pairwise, or None; `mapping` stays as it was."""
    if len(first) != len(second):
        return None
    # On a copy: an overload that does not match must leave no bindings behind for the next one tried.
    extended = dict(mapping)
    for one, other in zip(first, second, strict=True):
        if not _is_assignable(extended, one, other):
            return None
    return extended


def most_general(one: CelType, other: CelType) -> CelType:
    """Return the more general of two types that unify."""
    return one if _is_equal_or_less_specific(one, other) else other


def substitute(mapping: Substitutions, given: CelType, *, free_to_dyn: bool = False) -> CelType:
    """Replace type parameters by their types, and with `free_to_dyn` unbound ones by dyn."""
    if given in mapping:
        return substitute(mapping, mapping[given], free_to_dyn=free_to_dyn)
    if given.kind is Kind.PARAM:
        return DYN if free_to_dyn else given
    if not given.parameters:
        return given
    inner = tuple(substitute(mapping, each, free_to_dyn=free_to_dyn) for each in given.parameters)
    return CelType(given.kind, given.name, inner, given.nullable)


def _is_assignable(mapping: Substitutions, one: CelType, other: CelType) -> bool:
    if other.kind is Kind.PARAM:
        valid, known = _substitute_parameter(mapping, one, other)
        if valid or known:
            return valid
    if one.kind is Kind.PARAM:
        return _substitute_parameter(mapping, other, one)[0]
    if one.is_dyn or other.is_dyn or Kind.ERROR in (one.kind, other.kind):
        return True
    if one.kind is Kind.NULL:
        return _is_nullable(other)
    if other.kind is Kind.NULL:
        return _is_nullable(one)
    # A type is assignable to any other type: `type(a) == type(b)` checks for every a and b.
    if one.kind is Kind.TYPE:
        return other.kind is Kind.TYPE
    if one.kind in _COMPOSED:
        if one.kind is not other.kind or one.name != other.name or len(one.parameters) != len(other.parameters):
            return False
        pairs = zip(one.parameters, other.parameters, strict=True)
        return all(_is_assignable(mapping, mine, its) for mine, its in pairs)
    return other.is_assignable_from(one)


def _is_nullable(given: CelType) -> bool:
    return given.kind in _NULLABLE or given.nullable or given.kind is Kind.NULL


def _substitute_parameter(mapping: Substitutions, one: CelType, parameter: CelType) -> tuple[bool, bool]:
    """Return whether the type can replace the parameter, and whether the parameter is bound already."""
    if one == parameter:
        return True, True
    known = mapping.get(parameter)
    if known is not None:
        if one == known:
            return True, True
        if not _is_assignable(mapping, one, known):
            return False, True
        general = most_general(one, known)
        # A type that contains the parameter itself would be substituted without end.
        if _is_not_referenced_in(mapping, parameter, general):
            mapping[parameter] = general
        return True, True
    if _is_not_referenced_in(mapping, parameter, one):
        mapping[parameter] = one
        return True, False
    return False, False


def _is_not_referenced_in(mapping: Substitutions, parameter: CelType, within: CelType) -> bool:
    """Return whether the parameter does not occur in a type, directly or through its substitution."""
    if parameter == within:
        return False
    if within.kind is Kind.PARAM:
        known = mapping.get(within)
        return known is None or _is_not_referenced_in(mapping, parameter, known)
    return all(_is_not_referenced_in(mapping, parameter, inner) for inner in within.parameters)


def _is_equal_or_less_specific(one: CelType, other: CelType) -> bool:
    if one.is_dyn or one.kind is Kind.PARAM:
        return True
    if other.is_dyn or other.kind is Kind.PARAM or one.kind is not other.kind:
        return False
    if one.kind is Kind.TYPE:
        return True
    if one.kind in _COMPOSED:
        if one.name != other.name or len(one.parameters) != len(other.parameters):
            return False
        return all(
            _is_equal_or_less_specific(mine, its) for mine, its in zip(one.parameters, other.parameters, strict=True)
        )
    return one == other
