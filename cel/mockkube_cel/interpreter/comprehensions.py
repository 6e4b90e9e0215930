"""Comprehensions over lists and maps, and bindings of names to values.

upstream 1.36: cel-go interpreter/interpretable.go
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mockkube_cel.program import UNSET, Frame, Run
from mockkube_cel.values import CelError, MutableList, MutableMap, from_key, go_type_name


def read_slot(slot: int) -> Run:
    """Return a closure that reads a variable of a comprehension."""
    return lambda frame: frame.slots[slot]


def read_accumulator(slot: int, init: Run) -> Run:
    """Return a closure that reads the accumulator; the first read computes its initial value."""

    def read(frame: Frame) -> Any:
        value = frame.slots[slot]
        # cel-go computes the initial value lazily: what `cel.bind` binds costs nothing if its body does not use it.
        if value is UNSET:
            value = _to_mutable(init(frame))
            frame.slots[slot] = value
        return value

    return read


def _to_mutable(value: Any) -> Any:
    """Return an empty list or map in the form that comprehensions change in place."""
    if isinstance(value, list) and not value:
        return MutableList()
    return MutableMap() if isinstance(value, dict) and not value else value


@dataclass(frozen=True, slots=True)
class PlannedComprehension:
    """Planned parts of a comprehension; the first three are slots of the frame."""

    accumulator: int
    first: int
    second: int | None
    over: Run
    condition: Run
    step: Run
    result: Run

    def to_closure(self) -> Run:
        """Return a closure that runs the comprehension."""
        return self._two_variable_closure() if self.second is not None else self._one_variable_closure()

    def _one_variable_closure(self) -> Run:
        accumulator, first, condition, step = self.accumulator, self.first, self.condition, self.step

        def run(frame: Frame) -> Any:
            slots = frame.slots
            slots[accumulator] = UNSET
            container = self.over(frame)
            if type(container) is CelError:
                return container
            if isinstance(container, dict):
                # One variable over a map iterates over its keys.
                container = [from_key(key) for key in (reversed(container) if frame.backwards else container)]
            elif not isinstance(container, list):
                return CelError(f"got '{go_type_name(container)}', expected iterable type")
            for item in container:
                slots[first] = item
                if condition(frame) is False:
                    break
                slots[accumulator] = step(frame)
            return self._finish(frame)

        return run

    def _two_variable_closure(self) -> Run:
        accumulator, first, second = self.accumulator, self.first, self.second
        condition, step = self.condition, self.step
        assert second is not None, "planned for two variables"

        def run(frame: Frame) -> Any:
            slots = frame.slots
            slots[accumulator] = UNSET
            container = self.over(frame)
            if type(container) is CelError:
                return container
            if not isinstance(container, (list, dict)):
                return CelError(f"unsupported comprehension range type: {go_type_name(container)}")
            for key, value in _items(container, backwards=frame.backwards):
                slots[first], slots[second] = key, value
                if condition(frame) is False:
                    break
                slots[accumulator] = step(frame)
            return self._finish(frame)

        return run

    def _finish(self, frame: Frame) -> Any:
        value = self.result(frame)
        # The result must not stay mutable: a later `+` with it would change it in place.
        if type(value) is MutableList:
            return list(value)
        return dict(value) if type(value) is MutableMap else value


def _items(container: Any, *, backwards: bool) -> Iterator[tuple[Any, Any]]:
    if isinstance(container, list):
        return iter(enumerate(container))
    items = reversed(container.items()) if backwards else container.items()
    return ((from_key(key), value) for key, value in items)
