"""Parser: turns text into a syntax tree and expands macros.

Text that breaks the grammar raises `BadSyntax`; all other errors are collected in `issues`.
upstream 1.36: cel-go parser/parser.go, parser/gen/CEL.g4
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from mockkube_cel.issues import NOWHERE, Issue
from mockkube_cel.syntax import literals
from mockkube_cel.syntax.lexer import BadSyntax, Token, tokenize
from mockkube_cel.syntax.macros import Macro, MacroError, NodeFactory
from mockkube_cel.syntax.tree import (
    Call,
    FieldInit,
    Ident,
    ListNode,
    Literal,
    MapEntry,
    MapNode,
    Node,
    Select,
    StructNode,
)

# Maximum nesting of grammar rules and maximum depth of the tree.
DEPTH_MAX: Final = 250
CHARACTERS_MAX: Final = 100_000
RESERVED_NAMES: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_RELATIONS: Final = frozenset(("<", "<=", ">=", ">", "==", "!=", "in"))
LITERALS: Final[dict[str, Callable[[str], Any]]] = {
    "int": literals.parse_int,
    "uint": literals.parse_uint,
    "float": literals.parse_double,
    "string": literals.parse_string,
    "bytes": literals.parse_bytes,
}
_CONSTANT_VALUES: Final = {"true": True, "false": False, "null": None}


class TooDeep(Exception):
    """Expression that nests too deep; carries the message."""


class Parser:
    """Parser of one text; use once."""

    def __init__(self, text: str, macros: Mapping[tuple[str, int, bool], Macro]) -> None:
        self.text = text
        self.issues: list[Issue] = []
        self._macros = macros
        self._tokens: list[Token] = []
        self._position = 0
        # cel-go's recursion listener counts the depth of each grammar rule apart; the limit holds for each.
        self._depths = {"expr": 0, "relation": 0, "calc": 0}

    def parse(self) -> Node:
        """Return the tree; it is valid only if there are no issues."""
        if len(self.text) > CHARACTERS_MAX:
            size = len(self.text)
            return self._report(
                NOWHERE, f"expression code point size exceeds limit: size: {size}, limit {CHARACTERS_MAX}"
            )
        self._tokens = tokenize(self.text)
        try:
            root = self._parse_expr()
        except TooDeep as error:
            return self._report(NOWHERE, str(error))
        self._expect("end")
        if root.height > DEPTH_MAX:
            return self._report(NOWHERE, "max recursion depth exceeded")
        return root

    def _report(self, offset: int, message: str) -> Node:
        self.issues.append(Issue(offset, message))
        return Literal(offset=offset, value=None)

    @property
    def _next(self) -> Token:
        return self._tokens[self._position]

    def _take(self) -> Token:
        token = self._tokens[self._position]
        self._position += 1
        return token

    def _accept(self, *kinds: str) -> Token | None:
        return self._take() if self._next.kind in kinds else None

    def _expect(self, kind: str) -> Token:
        token = self._take() if self._next.kind == kind else None
        if token is None:
            raise BadSyntax
        return token

    @contextmanager
    def _count_depth(self, rule: str) -> Iterator[None]:
        self._depths[rule] += 1
        if self._depths[rule] > DEPTH_MAX:
            raise TooDeep(f"expression recursion limit exceeded: {DEPTH_MAX}")
        yield
        # Not in a finally block: an exception ends the parsing, and with it the use of the counters.
        self._depths[rule] -= 1

    def _parse_expr(self) -> Node:
        with self._count_depth("expr"):
            condition = self._parse_logical("||", lambda: self._parse_logical("&&", self._parse_relation))
            if not (operator := self._accept("?")):
                return condition
            first = self._parse_logical("||", lambda: self._parse_logical("&&", self._parse_relation))
            self._expect(":")
            return self._make_call(operator.offset, "_?_:_", condition, first, self._parse_expr())

    def _parse_logical(self, operator: str, term: Callable[[], Node]) -> Node:
        terms, offsets = [term()], []
        while token := self._accept(operator):
            offsets.append(token.offset)
            terms.append(term())
        return self._balance_operands(f"_{operator}_", terms, offsets)

    def _balance_operands(self, function: str, terms: list[Node], offsets: list[int]) -> Node:
        """Join a chain of operands to a tree of minimal depth."""
        if len(terms) == 1:
            return terms[0]
        middle = len(offsets) // 2
        left = self._balance_operands(function, terms[: middle + 1], offsets[:middle])
        right = self._balance_operands(function, terms[middle + 1 :], offsets[middle + 1 :])
        node = Call(offset=offsets[middle], function=function, target=None, args=[left, right])
        node.height = max(left.height, right.height)
        return node

    def _make_call(self, offset: int, function: str, *args: Node) -> Node:
        node = Call(offset=offset, function=function, target=None, args=list(args))
        node.height = 1 + max(arg.height for arg in args)
        return node

    def _parse_relation(self) -> Node:
        with self._count_depth("relation"):
            left = self._parse_calculation()
            while operator := self._accept(*_RELATIONS):
                with self._count_depth("relation"):
                    right = self._parse_calculation()
                function = "@in" if operator.text == "in" else f"_{operator.text}_"
                left = self._make_call(operator.offset, function, left, right)
            return left

    def _parse_calculation(self) -> Node:
        with self._count_depth("calc"):
            return self._parse_chain(("+", "-"), lambda: self._parse_chain(("*", "/", "%"), self._parse_unary))

    def _parse_chain(self, operators: tuple[str, ...], operand: Callable[[], Node]) -> Node:
        left = operand()
        while operator := self._accept(*operators):
            with self._count_depth("calc"):
                right = operand()
            left = self._make_call(operator.offset, f"_{operator.text}_", left, right)
        return left

    def _parse_unary(self) -> Node:
        token = self._next
        # A minus belongs to the number that follows: without it the least int64 could not be written.
        if token.kind == "-" and self._tokens[self._position + 1].kind in ("int", "float"):
            return self._parse_member()
        if token.kind not in ("!", "-"):
            return self._parse_member()
        count = 0
        while self._accept(token.kind):
            count += 1
        operand = self._parse_member()
        # cel-go drops pairs of `!` or `-`.
        if count % 2 == 0:
            return operand
        node = Call(offset=token.offset, function=f"{token.kind}_", target=None, args=[operand])
        node.height = operand.height
        return node

    def _parse_member(self) -> Node:
        node = self._parse_primary()
        while operator := self._accept(".", "["):
            node = self._parse_selection(node, operator) if operator.kind == "." else self._parse_index(node, operator)
        return node

    def _parse_index(self, operand: Node, bracket: Token) -> Node:
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._parse_expr()
        self._expect("]")
        return self._make_call(bracket.offset, function, operand, index)

    def _parse_selection(self, operand: Node, dot: Token) -> Node:
        optional = self._accept("?")
        name = self._accept("ident", "escaped")
        if name is None:
            raise BadSyntax
        if not optional and name.kind == "ident" and (bracket := self._accept("(")):
            args = self._parse_arguments()
            height = 1 + max(operand.height, *(arg.height for arg in args), 0)
            return self._parse_call(bracket.offset, name.text, operand, args, height)
        field = name.text
        if name.kind == "escaped":
            # Kubernetes does not enable quoted field names.
            self._report(name.offset, "unsupported syntax: '`'")
        if optional:
            key = Literal(offset=name.offset, value=field)
            return self._make_call(dot.offset, "_?._", operand, key)
        node = Select(offset=dot.offset, operand=operand, field=field)
        node.height = operand.height + 1
        return node

    def _parse_call(self, offset: int, name: str, target: Node | None, args: list[Node], height: int) -> Node:
        macro = self._macros.get((name, len(args), target is not None))
        node: Node | None = None
        if macro is not None:
            try:
                node = macro(NodeFactory(offset), target, args)
            except MacroError as error:
                node = self._report(error.offset, error.message)
        node = node or Call(offset=offset, function=name, target=target, args=args)
        node.height = height
        return node

    def _parse_arguments(self) -> list[Node]:
        if self._accept(")"):
            return []
        args = [self._parse_expr()]
        while self._accept(","):
            args.append(self._parse_expr())
        self._expect(")")
        return args

    def _parse_primary(self) -> Node:
        token = self._next
        if token.kind == "(":
            self._take()
            inner = self._parse_expr()
            self._expect(")")
            return inner
        if token.kind == "[":
            return self._parse_list()
        if token.kind == "{":
            return self._parse_map()
        if token.kind in (".", "ident"):
            return self._parse_named()
        return self._parse_literal()

    def _parse_literal(self) -> Node:
        token = self._take()
        text = token.text
        if token.kind in _CONSTANT_VALUES:
            return Literal(offset=token.offset, value=_CONSTANT_VALUES[token.kind])
        kind = token.kind
        if kind == "-":
            number = self._take()
            kind, text = number.kind, "-" + number.text
        if kind not in LITERALS or (token.kind == "-" and kind not in ("int", "float")):
            raise BadSyntax
        try:
            return Literal(offset=token.offset, value=LITERALS[kind](text))
        except literals.BadLiteral as error:
            return self._report(token.offset, str(error))

    def _parse_named(self) -> Node:
        """Parse a name, a call of a global function or a message literal."""
        start = self._next
        dot = "." if self._accept(".") else ""
        name = self._expect("ident")
        if (end := self._find_message_brace()) is not None:
            names = [name.text, *(token.text for token in self._tokens[self._position : end] if token.kind == "ident")]
            self._position = end
            return self._parse_message(dot + ".".join(names))
        bracket = self._accept("(")
        args = self._parse_arguments() if bracket else []
        # Checked after the arguments, so that errors in them are reported first, as cel-go does.
        if name.text in RESERVED_NAMES:
            return self._report(start.offset, f"reserved identifier: {name.text}")
        if bracket is None:
            return Ident(offset=name.offset, name=dot + name.text)
        height = max((arg.height for arg in args), default=0)
        return self._parse_call(bracket.offset, dot + name.text, None, args, height)

    def _find_message_brace(self) -> int | None:
        """Return the position of the brace of a message literal, if the name begins one."""
        position = self._position
        while self._tokens[position].kind == "." and self._tokens[position + 1].kind == "ident":
            position += 2
        return position if self._tokens[position].kind == "{" else None

    def _parse_list(self) -> Node:
        bracket = self._take()
        elements: list[Node] = []
        optional = set()
        while not self._consume_separator("]", first=not elements):
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._parse_expr())
        node = ListNode(offset=bracket.offset, elements=elements, optional=frozenset(optional))
        node.height = max((element.height for element in elements), default=0)
        return node

    def _consume_separator(self, bracket: str, *, first: bool) -> bool:
        """Consume a separator or the closing token; return True at the end. A trailing comma is allowed."""
        comma = self._accept(",")
        if self._accept(bracket):
            return True
        if first is (comma is not None):
            raise BadSyntax
        return False

    def _parse_map(self) -> Node:
        brace = self._take()
        entries: list[MapEntry] = []
        while not self._consume_separator("}", first=not entries):
            optional = self._accept("?") is not None
            key = self._parse_expr()
            self._expect(":")
            entries.append(MapEntry(key=key, value=self._parse_expr(), optional=optional))
        node = MapNode(offset=brace.offset, entries=entries)
        node.height = max((child.height for child in node.children()), default=0)
        return node

    def _parse_message(self, name: str) -> Node:
        brace = self._take()
        fields: list[FieldInit] = []
        while not self._consume_separator("}", first=not fields):
            optional = self._accept("?") is not None
            field = self._accept("ident", "escaped")
            if field is None:
                raise BadSyntax
            if field.kind == "escaped":
                self._report(field.offset, "unsupported syntax: '`'")
            colon = self._expect(":")
            fields.append(FieldInit(offset=colon.offset, name=field.text, value=self._parse_expr(), optional=optional))
        node = StructNode(offset=brace.offset, type_name=name, fields=fields)
        node.height = max((child.height for child in node.children()), default=0)
        return node
