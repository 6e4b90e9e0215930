"""Planner: turns a checked tree into closures, folds constants, compiles constant patterns.

upstream 1.36: cel-go interpreter/planner.go, decorators.go
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mockkube_cel.declarations import Charge, Function, Implementation, Overload
from mockkube_cel.golang.goregexp import RegexError, compile_pattern
from mockkube_cel.interpreter import calls, comprehensions
from mockkube_cel.interpreter.attributes import Attribute, AttributePath, ConditionalAttribute, Qualifier, with_charge
from mockkube_cel.interpreter.constructors import build_list, build_map, build_message
from mockkube_cel.program import Frame, Program, Run
from mockkube_cel.schema import CONSTANTS, Schema
from mockkube_cel.syntax.tree import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    descendants,
)
from mockkube_cel.types import Kind
from mockkube_cel.values import CelError, InternalError, UInt, to_key

_NO_CONSTANT: Final = object()
_CONVERSIONS: Final = frozenset(
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"]
)
_PATTERNS: Final = frozenset(("matches", "find", "findAll"))
_HASHABLE: Final = (bool, int, UInt, float, str)


class PlanError(Exception):
    """Constant that fails, so that the expression can never be evaluated."""


@dataclass(slots=True)
class Interpretable:
    """A planned node: a constant, an attribute that can still be qualified, or any other closure."""

    run: Run | None = None
    constant: Any = _NO_CONSTANT
    attribute: Attribute | None = None
    test_only: bool = False

    @property
    def is_constant(self) -> bool:
        """True if the value is known before evaluation."""
        return self.constant is not _NO_CONSTANT

    def to_closure(self) -> Run:
        """Return the closure that evaluates this node, once its attribute is complete."""
        if self.run is None:
            if self.attribute is not None:
                self.run = with_charge(self.attribute, test_only=self.test_only)
            else:
                value = self.constant
                self.run = lambda frame: value
        return self.run

    def to_attribute(self) -> Attribute:
        """Return the attribute to qualify: its own, or one that starts at this node."""
        return self.attribute if self.attribute is not None else AttributePath(self.to_closure())


class Planner:
    """Planner of one tree; use once."""

    def __init__(self, schema: Schema, functions: Mapping[str, Function]) -> None:
        self._schema = schema
        self._functions = functions
        self._scopes: list[dict[str, Run]] = []
        self._slots = 0
        self._needs_type_checks = False

    def plan(self, root: Node) -> Program:
        """Return the program; raise PlanError if a constant in it fails."""
        # Where one type is only known at run time, values of unexpected types may turn up anywhere.
        self._needs_type_checks = any(calls.is_dynamic(node.type) for node in descendants(root))
        run = self._plan(root).to_closure()
        return Program(run, self._slots, _height(root))

    def _plan(self, node: Node) -> Interpretable:
        match node:
            case Literal():
                return Interpretable(constant=node.value)
            case Ident():
                return self._plan_ident(node, node.name)
            case Select():
                return self._plan_select(node)
            case Call():
                return self._plan_call(node)
            case ListNode():
                steps = [self._plan(element) for element in node.elements]
                run = build_list([step.to_closure() for step in steps], node.optional)
                return self._fold(run, steps)
            case MapNode():
                steps = [self._plan(child) for child in node.children()]
                optional = [entry.optional for entry in node.entries]
                run = build_map([step.to_closure() for step in steps], optional)
                return self._fold(run, steps)
            case StructNode():
                steps = [self._plan(child) for child in node.children()]
                return Interpretable(build_message(node.type_name, node.fields, [step.to_closure() for step in steps]))
            case Comprehension():
                return self._plan_comprehension(node)
        raise AssertionError("every kind of node has its case")

    def _fold(self, run: Run, steps: list[Interpretable]) -> Interpretable:
        """Return a constant if all parts are constants."""
        if not all(step.is_constant for step in steps):
            return Interpretable(run)
        try:
            return Interpretable(constant=run(Frame({}, 0, 2**63)))
        # A panic of upstream belongs to the evaluation: the program itself is valid.
        except InternalError:
            return Interpretable(run)

    def _plan_ident(self, node: Node, name: str) -> Interpretable:
        if node.type.kind is Kind.TYPE:
            named = self._schema.resolve_type_value(name)
            if named is None:
                raise PlanError(f"reference to undefined type: {name}")
            return Interpretable(constant=named)
        for scope in reversed(self._scopes):
            if name in scope:
                return Interpretable(attribute=AttributePath(scope[name]))
        if name in CONSTANTS:
            return Interpretable(constant=CONSTANTS[name])
        return Interpretable(attribute=AttributePath(lambda frame: frame.variables[name], variable=name))

    def _plan_select(self, node: Select) -> Interpretable:
        if node.ident:
            return self._plan_ident(node, node.ident)
        key = node.key or node.field
        name = node.field if key != node.field else ""
        qualifier = Qualifier(key, test_only=node.test_only, name=name)
        return self._plan_qualifier(node.operand, qualifier, test_only=node.test_only)

    def _plan_qualifier(self, operand: Node, qualifier: Qualifier, *, test_only: bool = False) -> Interpretable:
        path = self._plan(operand).to_attribute()
        path.extend(qualifier)
        return Interpretable(attribute=path, test_only=test_only)

    def _plan_call(self, node: Call) -> Interpretable:
        match node.function:
            case "_[_]" | "_?._" | "_[?_]":
                return self._plan_index(node, optional=node.function != "_[_]")
            case "_?_:_":
                condition, truthy, falsy = (self._plan(arg) for arg in node.args)
                return Interpretable(
                    attribute=ConditionalAttribute(condition.to_closure(), truthy.to_attribute(), falsy.to_attribute())
                )
        steps = [self._plan(operand) for operand in node.operands]
        runs = [step.to_closure() for step in steps]
        match node.function:
            case "_&&_":
                return Interpretable(calls.plan_logical(*runs, decisive=False))
            case "_||_":
                return Interpretable(calls.plan_logical(*runs, decisive=True))
            case "_==_":
                return Interpretable(calls.plan_equality(*runs, negated=False))
            case "_!=_":
                return Interpretable(calls.plan_equality(*runs, negated=True))
            case "or" | "orValue" if len(runs) == 2:
                return Interpretable(calls.plan_optional_or(*runs, unwrap=node.function == "orValue"))
            case "@in" if len(node.overloads) == 1 and node.overloads[0].id == "in_list" and steps[1].is_constant:
                return self._plan_membership(node, runs, steps[1].constant)
        return self._plan_function(node, steps, runs)

    def _plan_index(self, node: Call, *, optional: bool) -> Interpretable:
        operand = self._plan(node.args[0])
        index = self._plan(node.args[1])
        if index.is_constant:
            qualifier = Qualifier(index.constant, optional=optional)
        elif index.attribute is not None:
            # A path as index is followed without being charged as a path.
            qualifier = Qualifier(compute=index.attribute.make_resolver(), optional=optional)
        else:
            qualifier = Qualifier(compute=index.to_closure(), optional=optional)
        path = operand.to_attribute()
        path.extend(qualifier)
        return Interpretable(attribute=path)

    def _plan_membership(self, node: Call, runs: list[Run], elements: list[Any]) -> Interpretable:
        """Turn `x in [constants]` into a look-up in a set."""
        if not elements:
            # As in cel-go, the operand of `x in []` is not evaluated, so it cannot fail either.
            return Interpretable(constant=False)
        if not all(type(element) in _HASHABLE for element in elements):
            return self._plan_function(node, [], runs)
        members = frozenset(map(to_key, elements))
        operand = runs[0]

        def run(frame: Frame) -> Any:
            value = operand(frame)
            if type(value) is CelError:
                return value
            return type(value) in _HASHABLE and to_key(value) in members

        return Interpretable(run)

    def _plan_function(self, node: Call, steps: list[Interpretable], runs: list[Run]) -> Interpretable:
        function = self._functions[node.function]
        if function.name == "@not_strictly_false":
            assert function.run is not None, "it has one implementation"
            return Interpretable(calls.plan_lenient_call(function.run, runs[0]))
        pattern = function.name in _PATTERNS and len(steps) > 1 and steps[1].is_constant
        if pattern:
            _compile_constant_pattern(steps[1].constant)
        overload = node.overloads[0] if len(node.overloads) == 1 else None
        implementation, eager = self._find_implementation(function, overload)
        charge = _find_charge(function, overload)
        # cel-go replaces a call with a constant pattern by a variadic one, which stops at a failing operand.
        run = calls.plan_call(implementation, runs, charge, eager=eager or pattern)
        if function.name in _CONVERSIONS and len(steps) == 1 and steps[0].is_constant:
            return _fold_conversion(implementation, steps[0].constant)
        return Interpretable(run)

    def _find_implementation(self, function: Function, overload: Overload | None) -> tuple[Implementation, bool]:
        """Return the implementation of the call, and whether it stops at the first failing operand."""
        if function.run is not None:
            return function.run, False
        if overload is None:
            return calls.make_dispatcher(function), True
        assert overload.run is not None, "what has no implementation is planned apart"
        if function.guarded and self._needs_type_checks:
            return calls.with_type_check(function.name, overload, overload.run), overload.eager
        return overload.run, overload.eager

    def _plan_comprehension(self, node: Comprehension) -> Interpretable:
        # Nested comprehensions may use the same variable names; slots of their own keep them apart.
        accumulator, first, second = self._slots, self._slots + 1, self._slots + 2
        self._slots += 3
        init = self._plan(node.init).to_closure()
        over = self._plan(node.range).to_closure()
        self._scopes.append({node.accumulator: comprehensions.read_accumulator(accumulator, init)})
        inner = {node.variable: comprehensions.read_slot(first)}
        if node.variable2:
            inner[node.variable2] = comprehensions.read_slot(second)
        self._scopes.append(inner)
        condition = self._plan(node.condition).to_closure()
        step = self._plan(node.step).to_closure()
        self._scopes.pop()
        result = self._plan(node.result).to_closure()
        self._scopes.pop()
        loop = comprehensions.PlannedComprehension(
            accumulator, first, second if node.variable2 else None, over, condition, step, result
        )
        return Interpretable(loop.to_closure())


def _find_charge(function: Function, overload: Overload | None) -> Charge | None:
    if overload is not None and overload.charge is not None:
        return overload.charge
    return function.charge


def _compile_constant_pattern(pattern: Any) -> None:
    if type(pattern) is not str:
        return
    try:
        compile_pattern(pattern)
    except RegexError as error:
        raise PlanError(str(error)) from None


def _fold_conversion(implementation: Implementation, value: Any) -> Interpretable:
    result = implementation(value)
    if type(result) is CelError:
        # upstream folds constant conversions while it plans, so `int("a")` is an error before any evaluation.
        raise PlanError(result.message)
    return Interpretable(constant=result)


def _height(root: Node) -> int:
    """Return the depth of the tree."""
    height = 0
    level = [root]
    while level:
        height += 1
        level = [child for node in level for child in node.children()]
    return height
