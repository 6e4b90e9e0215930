"""Syntax tree: built by the parser, annotated by the checker, read by planner and estimator."""

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
    height: int = 0
    """How deep it nests, counting what the parser's limit counts."""

    def children(self) -> Iterator["Node"]:
        """Yield the direct subexpressions, in order of evaluation."""
        yield from ()


@dataclass(eq=False, slots=True, kw_only=True)
class Literal(Node):
    """A constant."""

    value: Any


@dataclass(eq=False, slots=True, kw_only=True)
class Ident(Node):
    """A name; after checking, the full name of what it refers to."""

    name: str


@dataclass(eq=False, slots=True, kw_only=True)
class Select(Node):
    """A field of an operand; with `test_only`, a test for its presence."""

    operand: Node
    field: str
    test_only: bool = False
    ident: str = ""
    """Qualified name, if the selection turned out to be one."""

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
class Entry:
    """An entry of a map literal."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class MapNode(Node):
    """A map literal."""

    entries: list[Entry]

    def children(self) -> Iterator[Node]:
        """Yield keys and values in turn."""
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
        """Yield the values."""
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
        """Return whether the comprehension only binds a name, as `cel.bind` does."""
        return (
            isinstance(self.range, ListNode)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
        )


def descendants(node: Node) -> Iterator[Node]:
    """Yield the node and everything inside it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(current.children())))


def qualified_name(node: Node) -> str | None:
    """Return `a.b.c` if the node is nothing but names, else None."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
