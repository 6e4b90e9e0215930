"""Macros: calls that the parser expands.

upstream 1.36: cel-go parser/macro.go, cel/library.go, ext/comprehensions.go, ext/bindings.go, ext/lists.go
"""

import copy
from collections.abc import Callable
from typing import Any, Final

from mockkube_cel.syntax.tree import Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select, descendants

ACCUMULATOR: Final = "@result"
_OLD_ACCUMULATOR: Final = "__result__"
_SORT_INPUT: Final = "@__sortBy_input__"
_UNUSED: Final = "#unused"
# Largest tree that is copied: a chain of macros that copy their target doubles with each.
_COPIED_NODES_MAX: Final = 20_000


class MacroError(Exception):
    """Wrong call of a macro: position and message."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class NodeFactory:
    """Creates the nodes of one macro expansion, all at the position of the macro call."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def literal(self, value: Any) -> Node:
        """Return a constant."""
        return Literal(offset=self.offset, value=value)

    def ident(self, name: str) -> Node:
        """Return a name."""
        return Ident(offset=self.offset, name=name)

    def accumulator(self) -> Node:
        """Return the name of the accumulator."""
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *args: Node) -> Node:
        """Return a call of a global function."""
        return Call(offset=self.offset, function=function, target=None, args=list(args))

    def member_call(self, function: str, target: Node, *args: Node) -> Node:
        """Return a call of a member function."""
        return Call(offset=self.offset, function=function, target=target, args=list(args))

    def list(self, *elements: Node) -> Node:
        """Return a list."""
        return ListNode(offset=self.offset, elements=list(elements))

    def map(self) -> Node:
        """Return an empty map."""
        return MapNode(offset=self.offset, entries=[])

    def comprehension(
        self, over: Node, names: tuple[str, str], init: Node, condition: Node, step: Node, result: Node
    ) -> Node:
        """Return a comprehension with the usual accumulator."""
        return Comprehension(
            offset=self.offset, range=over, variable=names[0], variable2=names[1], accumulator=ACCUMULATOR,
            init=init, condition=condition, step=step, result=result,
        )  # fmt: skip

    def binding(self, name: str, value: Node, body: Node) -> Node:
        """Return the body with a name bound to a value."""
        return Comprehension(
            offset=self.offset, range=self.list(), variable=_UNUSED, variable2="", accumulator=name,
            init=value, condition=self.literal(False), step=self.ident(name), result=body,
        )  # fmt: skip


# Expands a call; None leaves the call unexpanded.
Macro = Callable[[NodeFactory, Node | None, list[Node]], Node | None]


def _copy(node: Node, offset: int) -> Node:
    """Return a copy of a tree that shares no node with it."""
    if sum(1 for _ in descendants(node)) > _COPIED_NODES_MAX:
        # differs: upstream goes on doubling until it runs out of memory.
        raise MacroError(offset, "expands to too many nodes")
    return copy.deepcopy(node)


def _variable_name(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.offset, message)
    # cel-go still refuses the accumulator's name of older versions.
    if node.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(node.offset, "iteration variable overwrites accumulator variable")
    return node.name


def _variable_names(args: list[Node], count: int) -> tuple[str, str]:
    if count == 1:
        return _variable_name(args[0], "argument must be a simple name"), ""
    for arg in args[:2]:
        if not isinstance(arg, Ident):
            raise MacroError(arg.offset, "argument must be a simple name")
    first, second = args[0], args[1]
    assert isinstance(first, Ident), "checked above"
    assert isinstance(second, Ident), "checked above"
    if first.name == second.name:
        raise MacroError(second.offset, f"duplicate variable name: {first.name}")
    return _variable_name(first, ""), _variable_name(second, "")


def expand_has(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    """Expand `has(a.b)` to a test for the field."""
    if not isinstance(args[0], Select):
        raise MacroError(args[0].offset, "invalid argument to has() macro")
    return Select(offset=make.offset, operand=args[0].operand, field=args[0].field, test_only=True)


def _make_quantifier(count: int, build: Callable[[NodeFactory, Node], tuple[Node, Node, Node, Node]]) -> Macro:
    def expand(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
        assert target is not None, "a member macro has a target"
        names = _variable_names(args, count)
        return make.comprehension(target, names, *build(make, args[count]))

    return expand


def _build_all(make: NodeFactory, predicate: Node) -> tuple[Node, Node, Node, Node]:
    # An error does not end the loop: a later element may still be false, which decides the result.
    condition = make.call("@not_strictly_false", make.accumulator())
    step = make.call("_&&_", make.accumulator(), predicate)
    return make.literal(True), condition, step, make.accumulator()


def _build_exists(make: NodeFactory, predicate: Node) -> tuple[Node, Node, Node, Node]:
    condition = make.call("@not_strictly_false", make.call("!_", make.accumulator()))
    step = make.call("_||_", make.accumulator(), predicate)
    return make.literal(False), condition, step, make.accumulator()


def _build_exists_one(make: NodeFactory, predicate: Node) -> tuple[Node, Node, Node, Node]:
    more = make.call("_+_", make.accumulator(), make.literal(1))
    step = make.call("_?_:_", predicate, more, make.accumulator())
    return make.literal(0), make.literal(True), step, make.call("_==_", make.accumulator(), make.literal(1))


def _step_if(make: NodeFactory, predicate: Node | None, step: Node) -> Node:
    return step if predicate is None else make.call("_?_:_", predicate, step, make.accumulator())


def _expand_map(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    assert target is not None, "a member macro has a target"
    name = _variable_name(args[0], "argument is not an identifier")
    step = make.call("_+_", make.accumulator(), make.list(args[-1]))
    step = _step_if(make, args[1] if len(args) == 3 else None, step)
    return make.comprehension(target, (name, ""), make.list(), make.literal(True), step, make.accumulator())


def _expand_filter(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    assert target is not None, "a member macro has a target"
    name = _variable_name(args[0], "argument is not an identifier")
    step = make.call("_+_", make.accumulator(), make.list(args[0]))
    step = _step_if(make, args[1], step)
    return make.comprehension(target, (name, ""), make.list(), make.literal(True), step, make.accumulator())


def _expand_transform_list(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    assert target is not None, "a member macro has a target"
    names = _variable_names(args, 2)
    step = make.call("_+_", make.accumulator(), make.list(args[-1]))
    step = _step_if(make, args[2] if len(args) == 4 else None, step)
    return make.comprehension(target, names, make.list(), make.literal(True), step, make.accumulator())


def _expand_transform_map(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    assert target is not None, "a member macro has a target"
    names = _variable_names(args, 2)
    step = make.call("cel.@mapInsert", make.accumulator(), make.ident(names[0]), args[-1])
    step = _step_if(make, args[2] if len(args) == 4 else None, step)
    return make.comprehension(target, names, make.map(), make.literal(True), step, make.accumulator())


def _expand_transform_map_entry(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    assert target is not None, "a member macro has a target"
    names = _variable_names(args, 2)
    step = make.call("cel.@mapInsert", make.accumulator(), args[-1])
    step = _step_if(make, args[2] if len(args) == 4 else None, step)
    return make.comprehension(target, names, make.map(), make.literal(True), step, make.accumulator())


def _make_optional_map(name: str, *, wrapped: bool) -> Macro:
    def expand(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
        assert target is not None, "a member macro has a target"
        if not isinstance(args[0], Ident):
            raise MacroError(args[0].offset, f"{name}() variable name must be a simple identifier")
        has_value = make.member_call("hasValue", target)
        # Checker and estimator keep what they know by node, so the target cannot occur twice in one tree.
        body = make.binding(args[0].name, make.member_call("value", _copy(target, make.offset)), args[1])
        if wrapped:
            body = make.call("optional.of", body)
        return make.call("_?_:_", has_value, body, make.call("optional.none"))

    return expand


def _expand_sort_by(make: NodeFactory, target: Node | None, args: list[Node]) -> Node:
    if not isinstance(target, (ListNode, Select, Ident, Comprehension, Call)):
        assert target is not None, "a member macro has a target"
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, message)
    # The input is bound to a name because it is used twice: for the keys and for the elements.
    keys = _expand_map(make, make.ident(_SORT_INPUT), args)
    call = make.member_call("@sortByAssociatedKeys", make.ident(_SORT_INPUT), keys)
    return make.binding(_SORT_INPUT, target, call)


def expand_bind(make: NodeFactory, target: Node | None, args: list[Node]) -> Node | None:
    """Expand `cel.bind(name, value, body)`."""
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].offset, "cel.bind() variable names must be simple identifiers")
    return make.binding(args[0].name, args[1], args[2])


# Macros by name, number of arguments, and whether they are called as a member.
STANDARD: Final[dict[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): expand_has,
    ("all", 2, True): _make_quantifier(1, _build_all),
    ("exists", 2, True): _make_quantifier(1, _build_exists),
    ("exists_one", 2, True): _make_quantifier(1, _build_exists_one),
    ("map", 2, True): _expand_map,
    ("map", 3, True): _expand_map,
    ("filter", 2, True): _expand_filter,
}
OPTIONAL: Final[dict[tuple[str, int, bool], Macro]] = {
    ("optMap", 2, True): _make_optional_map("optMap", wrapped=True),
    ("optFlatMap", 2, True): _make_optional_map("optFlatMap", wrapped=False),
}
TWO_VARIABLES: Final[dict[tuple[str, int, bool], Macro]] = {
    ("all", 3, True): _make_quantifier(2, _build_all),
    ("exists", 3, True): _make_quantifier(2, _build_exists),
    ("existsOne", 3, True): _make_quantifier(2, _build_exists_one),
    ("exists_one", 3, True): _make_quantifier(2, _build_exists_one),
    ("transformList", 3, True): _expand_transform_list,
    ("transformList", 4, True): _expand_transform_list,
    ("transformMap", 3, True): _expand_transform_map,
    ("transformMap", 4, True): _expand_transform_map,
    ("transformMapEntry", 3, True): _expand_transform_map_entry,
    ("transformMapEntry", 4, True): _expand_transform_map_entry,
}
LISTS: Final[dict[tuple[str, int, bool], Macro]] = {("sortBy", 2, True): _expand_sort_by}
BINDINGS: Final[dict[tuple[str, int, bool], Macro]] = {("bind", 3, True): expand_bind}
