"""Closures that build lists, maps and messages from literals.

upstream 1.36: cel-go interpreter/interpretable.go
"""

from collections.abc import Sequence
from typing import Any

from mockkube_cel.interpreter.attributes import format_value
from mockkube_cel.interpreter.messages import build_value
from mockkube_cel.program import CostExceeded, Frame, Run
from mockkube_cel.sizes import LIST_COST, MAP_COST, STRUCT_COST
from mockkube_cel.syntax.tree import FieldInit
from mockkube_cel.values import CelError, Optional, to_key


def _with_charge(compute: Run, cost: int) -> Run:
    def run(frame: Frame) -> Any:
        value = compute(frame)
        frame.cost += cost
        if frame.cost > frame.limit:
            raise CostExceeded
        return value

    return run


def build_list(elements: Sequence[Run], optional: frozenset[int]) -> Run:
    """Return a closure for a list literal."""

    def compute(frame: Frame) -> Any:
        values = []
        for index, element in enumerate(elements):
            value = element(frame)
            if type(value) is CelError:
                return value
            if index in optional:
                if type(value) is not Optional:
                    text = "cannot initialize optional list element from non-optional value"
                    return CelError(f"{text} {format_value(value)}")
                if not value.present:
                    continue
                value = value.value
            values.append(value)
        return values

    return _with_charge(compute, LIST_COST)


def build_map(parts: Sequence[Run], optional: Sequence[bool]) -> Run:
    """Return a closure for a map literal; `parts` are keys and values in turn."""
    entries = tuple(zip(parts[::2], parts[1::2], optional, strict=True))

    def compute(frame: Frame) -> Any:
        result: dict[Any, Any] = {}
        for key_of, value_of, may_miss in entries:
            key = key_of(frame)
            if type(key) is CelError:
                return key
            value = value_of(frame)
            if type(value) is CelError:
                return value
            if may_miss:
                if type(value) is not Optional:
                    return _not_optional_error(key, value)
                if not value.present:
                    # An absent optional value also removes an entry that an earlier duplicate key has set.
                    result.pop(to_key(key), None)
                    continue
                value = value.value
            result[to_key(key)] = value
        return result

    return _with_charge(compute, MAP_COST)


def _not_optional_error(name: Any, value: Any) -> CelError:
    return CelError(
        f"cannot initialize optional entry '{format_value(name)}' from non-optional value {format_value(value)}"
    )


def build_message(type_name: str, fields: Sequence[FieldInit], values: Sequence[Run]) -> Run:
    """Return a closure for a message literal."""
    inits = tuple(zip(fields, values, strict=True))

    def compute(frame: Frame) -> Any:
        result: dict[str, Any] = {}
        for init, value_of in inits:
            value = value_of(frame)
            if type(value) is CelError:
                return value
            if init.optional:
                if type(value) is not Optional:
                    return _not_optional_error(init.name, value)
                if not value.present:
                    result.pop(init.name, None)
                    continue
                value = value.value
            result[init.name] = value
        return build_value(type_name, result)

    return _with_charge(compute, STRUCT_COST)
