"""Type checker: resolves names and overloads, and gives every node its type.

upstream 1.36: cel-go checker/checker.go
"""

from collections.abc import Mapping

from mockkube_cel import types
from mockkube_cel.checker import unification
from mockkube_cel.declarations import Function, Overload
from mockkube_cel.issues import Issue
from mockkube_cel.schema import Schema
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
    qualified_name,
)
from mockkube_cel.types import CelType, Kind, format_type
from mockkube_cel.values import type_of


class Checker:
    """Type checker of one tree; use once. `issues` collects the errors."""

    def __init__(self, schema: Schema, functions: Mapping[str, Function]) -> None:
        self.issues: list[Issue] = []
        self._schema = schema
        self._functions = functions
        self._scopes: list[dict[str, CelType]] = []
        self._mapping: unification.Substitutions = {}
        self._parameters = 0

    def check(self, root: Node) -> None:
        """Set the type, resolved names and overloads of every node of the tree."""
        self._check(root)
        # A later node may bind a type parameter of an earlier one, so types are substituted once the whole tree is
        # checked.
        for node in descendants(root):
            node.type = unification.substitute(self._mapping, node.type, free_to_dyn=True)

    def _report(self, offset: int, message: str) -> None:
        self.issues.append(Issue(offset, message))

    def _check(self, node: Node) -> None:
        match node:
            case Literal():
                node.type = type_of(node.value)
            case Ident():
                self._check_ident(node)
            case Select():
                self._check_select(node)
            case Call():
                self._check_call(node)
            case ListNode():
                self._check_list(node)
            case MapNode():
                self._check_map(node)
            case StructNode():
                self._check_struct(node)
            case Comprehension():
                self._check_comprehension(node)

    def _lookup_ident(self, name: str) -> tuple[str, CelType] | None:
        """Return the full name and type of a variable or type; None if it is undeclared."""
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return name, scope[name]
        declared = self._schema.find_type(name)
        return None if declared is None else (name, declared)

    def _lookup_function(self, name: str) -> Function | None:
        return self._functions.get(name.removeprefix("."))

    def _report_undeclared(self, node: Node, name: str) -> None:
        node.type = types.ERROR
        self._report(node.offset, f"undeclared reference to '{name}' (in container '')")

    def _check_ident(self, node: Ident) -> None:
        declaration = self._lookup_ident(node.name)
        if declaration is None:
            self._report_undeclared(node, node.name)
            return
        node.name, node.type = declaration

    def _check_select(self, node: Select) -> None:
        # A dotted name is looked up as one variable first; only if there is none is it a field of its operand.
        name = qualified_name(node)
        if name is not None and (declaration := self._lookup_ident(name)):
            node.ident, node.type = declaration
            return
        selected = self._check_field_selection(node, node.operand, node.field, optional=False)
        node.type = types.BOOL if node.test_only else unification.substitute(self._mapping, selected)
        node.key = self._field_key(node.operand, node.field)

    def _field_key(self, operand: Node, field: str) -> str:
        """Return the key under which the value of an operand holds a field."""
        target, _ = types.unwrap_optional(unification.substitute(self._mapping, operand.type))
        return self._schema.field_key(target.name, field) if target.kind is Kind.STRUCT else field

    def _check_field_selection(self, node: Node, operand: Node, field: str, *, optional: bool) -> CelType:
        """Return the type of a field of an operand."""
        self._check(operand)
        target, unwrapped = types.unwrap_optional(unification.substitute(self._mapping, operand.type))
        result = types.DYN
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.STRUCT:
            result = self._lookup_field_type(node.offset, target.name, field)
        elif target.kind is Kind.PARAM:
            # Binds the type parameter to dyn: a later use must not give the operand a type that may lack the field.
            self._unify([types.DYN], [target])
        elif not target.is_dyn and target.kind is not Kind.ERROR:
            self._report(node.offset, f"type '{format_type(target)}' does not support field selection")
        return types.optional_of(result) if unwrapped or optional else result

    def _lookup_field_type(self, offset: int, message: str, field: str) -> CelType:
        fields = self._schema.fields(message)
        if fields is None:
            self._report(offset, f"unexpected failed resolution of '{message}'")
        elif (key := self._schema.field_key(message, field)) in fields:
            return fields[key]
        else:
            self._report(offset, f"undefined field '{field}'")
        return types.ERROR

    def _check_call(self, node: Call) -> None:
        if node.function == "_?._":
            self._check_optional_select(node)
            return
        for arg in node.args:
            self._check(arg)
        if node.target is None:
            self._check_global_call(node)
            return
        # `sets.contains(a, b)` is parsed as a call on a variable `sets`; the namespaced function takes precedence.
        prefix = qualified_name(node.target)
        function = self._lookup_function(f"{prefix}.{node.function}") if prefix is not None else None
        if function is not None:
            node.target, node.function = None, function.name
            self._resolve_overloads(node, function)
            return
        self._check(node.target)
        function = self._lookup_function(node.function)
        if function is None:
            self._report_undeclared(node, node.function)
            return
        self._resolve_overloads(node, function)

    def _check_global_call(self, node: Call) -> None:
        function = self._lookup_function(node.function)
        if function is None:
            self._report_undeclared(node, node.function)
            return
        node.function = function.name
        self._resolve_overloads(node, function)

    def _check_optional_select(self, node: Call) -> None:
        operand, key = node.args
        assert isinstance(key, Literal), "the parser makes it a constant"
        selected = self._check_field_selection(node, operand, key.value, optional=True)
        key.value = self._field_key(operand, key.value)
        key.type = types.STRING
        node.type = unification.substitute(self._mapping, selected)
        node.overloads = list(self._functions[node.function].overloads)

    def _resolve_overloads(self, node: Call, function: Function) -> None:
        """Find the overloads that fit the operands; several may where types are only known at run time."""
        operands = node.operands
        if function.name in ("_&&_", "_||_"):
            self._check_logical_operator(node, function.overloads[0])
            return
        result: CelType | None = None
        for overload in function.overloads:
            if overload.member is (node.target is None):
                continue
            args, its_result = self._instantiate(overload)
            if not self._unify([operand.type for operand in operands], args):
                continue
            node.overloads.append(overload)
            its_result = unification.substitute(self._mapping, its_result)
            if result is None:
                result = its_result
            elif not result.is_dyn and its_result != result:
                # Values decide which overload runs, so the result may have either type.
                result = types.DYN
        if result is None:
            given = [unification.substitute(self._mapping, each.type, free_to_dyn=True) for each in operands]
            signature = types.format_call(given, member=node.target is not None)
            text = f"found no matching overload for '{function.name}' applied to '{signature}'"
            self._report(node.offset, text)
        node.type = result or types.ERROR

    def _check_logical_operator(self, node: Call, overload: Overload) -> None:
        node.overloads = [overload]
        node.type = types.BOOL
        for arg in node.args:
            if not self._unify([arg.type], [types.BOOL]):
                self._report(arg.offset, f"expected type 'bool' but found '{format_type(arg.type)}'")
                node.type = types.ERROR

    def _instantiate(self, overload: Overload) -> tuple[list[CelType], CelType]:
        fresh = {types.param(name): self._new_type_param() for name in sorted(overload.params)}
        args = [unification.substitute(fresh, arg) for arg in overload.args]
        return args, unification.substitute(fresh, overload.result)

    def _new_type_param(self) -> CelType:
        self._parameters += 1
        return types.param(f"_var{self._parameters - 1}")

    def _unify(self, first: list[CelType], second: list[CelType]) -> bool:
        """Unify types pairwise and keep the bindings if all of them match; return whether they do."""
        extended = unification.unify(self._mapping, first, second)
        if extended is not None:
            self._mapping = extended
        return extended is not None

    def _report_type_mismatch(self, node: Node, expected: CelType, actual: CelType) -> None:
        self._report(node.offset, f"expected type '{format_type(expected)}' but found '{format_type(actual)}'")

    def _join_types(self, previous: CelType | None, current: CelType) -> CelType:
        """Return the type of a literal with elements of both types."""
        if previous is None:
            return current
        if self._unify([previous], [current]):
            return unification.most_general(previous, current)
        return types.DYN

    def _unwrap_optional_element(self, node: Node, *, optional: bool) -> CelType:
        if not optional:
            return node.type
        inner, is_optional = types.unwrap_optional(node.type)
        if not is_optional and not inner.is_dyn:
            self._report_type_mismatch(node, types.optional_of(inner), inner)
        return inner

    def _check_list(self, node: ListNode) -> None:
        joined: CelType | None = None
        for index, element in enumerate(node.elements):
            self._check(element)
            joined = self._join_types(joined, self._unwrap_optional_element(element, optional=index in node.optional))
        node.type = types.list_of(joined or self._new_type_param())

    def _check_map(self, node: MapNode) -> None:
        key_type: CelType | None = None
        value_type: CelType | None = None
        for entry in node.entries:
            self._check(entry.key)
            key_type = self._join_types(key_type, entry.key.type)
            self._check(entry.value)
            value_type = self._join_types(
                value_type, self._unwrap_optional_element(entry.value, optional=entry.optional)
            )
        node.type = types.map_of(key_type or self._new_type_param(), value_type or self._new_type_param())

    def _check_struct(self, node: StructNode) -> None:
        declaration = self._lookup_ident(node.type_name)
        if declaration is None:
            self._report_undeclared(node, node.type_name)
            return
        node.type_name, declared = declaration
        node.type = types.ERROR
        if declared.kind is not Kind.TYPE:
            if declared.kind is not Kind.ERROR:
                self._report(node.offset, f"'{declared.declared_name}' is not a type")
        elif self._schema.is_message(node.type_name):
            node.type = declared.parameters[0]
        else:
            self._report(node.offset, f"'{declared.parameters[0].declared_name}' is not a message type")
        # cel-go checks the fields even of what is no message type, and reports their errors too.
        for init in node.fields:
            self._check(init.value)
            expected = self._lookup_field_type(init.offset, node.type_name, init.name)
            actual = self._unwrap_optional_element(init.value, optional=init.optional)
            if not self._unify([expected], [actual]):
                text = f"expected type of field '{init.name}' is '{format_type(expected)}' but provided type is"
                self._report(init.offset, f"{text} '{format_type(actual)}'")

    def _check_comprehension(self, node: Comprehension) -> None:
        self._check(node.range)
        self._check(node.init)
        range_type = unification.substitute(self._mapping, node.range.type)
        self._scopes.append({node.accumulator: node.init.type})
        self._scopes.append(self._loop_scope(node, range_type))
        for part, expected in ((node.condition, types.BOOL), (node.step, node.init.type)):
            self._check(part)
            if not self._unify([expected], [part.type]):
                self._report_type_mismatch(part, expected, part.type)
        self._scopes.pop()
        # The result refers to the accumulator, but loop variables are out of scope.
        self._check(node.result)
        self._scopes.pop()
        node.type = unification.substitute(self._mapping, node.result.type)

    def _loop_scope(self, node: Comprehension, range_type: CelType) -> dict[str, CelType]:
        first, second = types.DYN, types.DYN
        match range_type.kind:
            case Kind.LIST:
                first = second = range_type.parameters[0]
                if node.variable2:
                    first = types.INT
            case Kind.MAP:
                first, second = range_type.parameters
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                # Binds a type parameter to dyn: elements of the range have types that only the values show.
                self._unify([types.DYN], [range_type])
            case _:
                text = "cannot be range of a comprehension (must be list, map, or dynamic)"
                self._report(node.range.offset, f"expression of type '{format_type(range_type)}' {text}")
                first = second = types.ERROR
        scope = {node.variable: first}
        if node.variable2:
            scope[node.variable2] = second
        return scope
