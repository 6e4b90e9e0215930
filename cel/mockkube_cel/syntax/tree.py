"""Syntax tree: the parser builds it, the checker annotates it, planner and estimator read it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mockkube_cel.declarations import Overload
from mockkube_cel.types import ERROR, CelType


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """An expression; errors point at `offset`, in characters. The checker fills in the other fields."""

    offset: int
    type: CelType = ERROR
    # How deep it nests, by the counting of the parser's limit.
    height: int = 0

    def children(self) -> Iterator["Node"]:
        """Yield the direct subexpressions, in order of evaluation."""
        yield from ()


@dataclass(eq=False, slots=True, kw_only=True)
class Literal(Node):
    """A constant."""

    value: Any


@dataclass(eq=False, slots=True, kw_only=True)
class Ident(Node):
    """A name; the checker replaces it by the full name of its declaration."""

    name: str


@dataclass(eq=False, slots=True, kw_only=True)
class Select(Node):
    """A field of an operand; with `test_only`, a test for its presence."""

    operand: Node
    field: str
    test_only: bool = False
    # Qualified name, if the checker resolved the selection to a declaration.
    ident: str = ""
    # Key under which the operand holds the field, if it is not the field's name.
    key: str = ""

    def children(self) -> Iterator[Node]:
        """Yield the operand."""
        yield self.operand


@dataclass(eq=False, slots=True, kw_only=True)
class Call(Node):
    """A function call; operators are functions with names like `_+_`."""

    function: str
    target: Node | None
    args: list[Node]
    overloads: list[Overload] = field(default_factory=list)

    def children(self) -> Iterator[Node]:
        """Yield target and arguments."""
        if self.target is not None:
            yield self.target
        yield from self.args

    @property
    def operands(self) -> list[Node]:
        """Target and arguments in one list."""
        return list(self.children())


@dataclass(eq=False, slots=True, kw_only=True)
class ListNode(Node):
    """A list literal; `optional` holds the indices of elements written `?x`."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()

    def children(self) -> Iterator[Node]:
        """Yield the elements."""
        yield from self.elements


@dataclass(eq=False, slots=True, kw_only=True)
class MapEntry:
    """An entry of a map literal."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class MapNode(Node):
    """A map literal."""

    entries: list[MapEntry]

    def children(self) -> Iterator[Node]:
        """Yield keys and values alternately."""
        for entry in self.entries:
            yield entry.key
            yield entry.value


@dataclass(eq=False, slots=True, kw_only=True)
class FieldInit:
    """A field of a message literal."""

    offset: int
    name: str
    value: Node
    optional: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class StructNode(Node):
    """A message literal."""

    type_name: str
    fields: list[FieldInit]

    def children(self) -> Iterator[Node]:
        """Yield the values of the fields."""
        for init in self.fields:
            yield init.value


@dataclass(eq=False, slots=True, kw_only=True)
class Comprehension(Node):
    """A comprehension over a range with an accumulator; macros expand to it."""

    range: Node
    variable: str
    variable2: str
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node

    def children(self) -> Iterator[Node]:
        """Yield the parts in upstream's order of traversal."""
        yield self.range
        yield self.init
        yield self.condition
        yield self.step
        yield self.result

    @property
    def is_binding(self) -> bool:
        """True if the comprehension only binds a name, as `cel.bind` does."""
        return (
            isinstance(self.range, ListNode)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
        )


def descendants(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it, parents first."""
    # A stack instead of recursion: every stage walks the tree, whatever its depth.
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(current.children())))


def qualified_name(node: Node) -> str | None:
    """Return `a.b.c` if the node consists of names only, else None."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
