"""Validators of a checked tree: invalid constant arguments, mixed literals, bad format strings.

upstream 1.36: cel-go cel/validator.go, ext/formatting.go
"""

from collections.abc import Iterator
from typing import Any

from mockkube_cel.golang import gotime
from mockkube_cel.golang.goregexp import RegexError, compile_pattern
from mockkube_cel.interpreter import formatting
from mockkube_cel.issues import Issue
from mockkube_cel.libraries import conversions
from mockkube_cel.syntax.tree import Call, ListNode, Literal, MapNode, Node, descendants
from mockkube_cel.types import CelType, format_type, unwrap_optional
from mockkube_cel.values import CelError, Duration, Timestamp


def validate(root: Node) -> list[Issue]:
    """Return the errors in a checked tree, in upstream's order of validators."""
    nodes = list(descendants(root))
    return [
        *_check_homogeneous(root),
        *_check_constant_arguments(nodes),
        *(issue for node in nodes if isinstance(node, Call) and (issue := _check_format(node))),
    ]


def _check_constant_arguments(nodes: list[Node]) -> Iterator[Issue]:
    for function, fails in (
        ("duration", _is_invalid_duration),
        ("timestamp", _is_invalid_timestamp),
        ("matches", _is_invalid_pattern),
    ):
        for node in nodes:
            if not isinstance(node, Call) or node.function != function or not node.args:
                continue
            argument = node.args[0]
            if isinstance(argument, Literal) and fails(argument.value):
                yield Issue(argument.offset, f"invalid {function} argument")


def _is_invalid_duration(value: Any) -> bool:
    if type(value) is str:
        return gotime.parse_duration(value) is None
    return not isinstance(value, Duration)


def _is_invalid_timestamp(value: Any) -> bool:
    if type(value) in (str, int):
        return type(conversions.to_timestamp(value)) is CelError
    return not isinstance(value, Timestamp)


def _is_invalid_pattern(value: Any) -> bool:
    try:
        compile_pattern(value)
    except RegexError:
        return True
    return False


def _check_homogeneous(root: Node) -> Iterator[Issue]:
    """Require one type for all entries of a literal; arguments of `format` are exempt."""
    nodes = list(_nodes_outside_format(root))
    for node in nodes:
        if isinstance(node, ListNode):
            yield from _check_list(node)
    for node in nodes:
        if isinstance(node, MapNode):
            yield from _check_map(node)


def _nodes_outside_format(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if not (isinstance(current, Call) and current.function == "format"):
            stack.extend(reversed(list(current.children())))


def _type_mismatch(node: Node, expected: CelType, actual: CelType) -> Issue:
    return Issue(node.offset, f"expected type '{format_type(expected)}' but found '{format_type(actual)}'")


def _check_list(node: ListNode) -> Iterator[Issue]:
    expected: CelType | None = None
    for index, element in enumerate(node.elements):
        actual = unwrap_optional(element.type)[0] if index in node.optional else element.type
        if expected is None:
            expected = actual
        elif expected != actual:
            # cel-go reports only the first mismatch of a list, but every one of a map.
            yield _type_mismatch(element, expected, actual)
            return


def _check_map(node: MapNode) -> Iterator[Issue]:
    key_type: CelType | None = None
    value_type: CelType | None = None
    for entry in node.entries:
        actual = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if key_type is None or value_type is None:
            key_type, value_type = entry.key.type, actual
            continue
        if key_type != entry.key.type:
            yield _type_mismatch(entry.key, key_type, entry.key.type)
        if value_type != actual:
            yield _type_mismatch(entry.value, value_type, actual)


def _check_format(node: Call) -> Issue | None:
    """Check a constant format string against a list literal."""
    # Format strings and arguments that are computed are only checked when the expression is evaluated.
    if node.function != "format" or not isinstance(node.target, Literal) or type(node.target.value) is not str:
        return None
    if len(node.args) != 1 or not isinstance(node.args[0], ListNode):
        return None
    arguments = node.args[0].elements
    offending: list[Node] = []

    def check(clause: str, precision: int | None, index: int) -> str:
        bad = _find_unformattable(clause, arguments[index])
        if bad is not None:
            offending.append(bad)
            raise formatting.FormatError(formatting.clause_error(clause, bad.type))
        return ""

    try:
        _, used = formatting.expand_clauses(node.target.value, len(arguments), check, checking=True)
    except formatting.FormatError as error:
        return Issue(offending[0].offset if offending else node.offset, str(error))
    if len(arguments) > used:
        text = f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})"
        return Issue(node.offset, text)
    return None


def _find_unformattable(clause: str, node: Node) -> Node | None:
    """Return the part of an argument that a clause cannot format."""
    if not formatting.accepts(clause, node.type):
        return node
    if clause == "s" and isinstance(node, (ListNode, MapNode)):
        return next((bad for child in node.children() if (bad := _find_unformattable(clause, child))), None)
    return None
