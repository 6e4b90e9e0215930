"""Compiler: turns the text of an expression into a program.

`parser` (with `macros`) builds a tree, `checker` types it, `validators` reject constants that can only fail,
`planner` turns it into closures, `estimator` bounds its cost.
upstream 1.36: apiserver/pkg/cel/environment/base.go
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mockkube_cel.checker.checker import Checker
from mockkube_cel.checker.estimator import CostEstimator
from mockkube_cel.checker.validators import validate
from mockkube_cel.declarations import Function
from mockkube_cel.environment import Compiled
from mockkube_cel.interpreter.planner import PlanError, Planner
from mockkube_cel.issues import Issue, Source
from mockkube_cel.recursion import raised_recursion_limit
from mockkube_cel.schema import Schema
from mockkube_cel.sizes import SizeEstimator
from mockkube_cel.syntax import errors, macros
from mockkube_cel.syntax.lexer import BadSyntax
from mockkube_cel.syntax.parser import DEPTH_MAX, Parser
from mockkube_cel.syntax.tree import Ident, Node
from mockkube_cel.types import ANY, BOOL

_MACROS: Final = {**macros.STANDARD, **macros.OPTIONAL, **macros.TWO_VARIABLES, **macros.LISTS}


class Compiler:
    """Compiler of expressions over the variables of one schema."""

    def __init__(
        self, schema: Schema, sizes: SizeEstimator, functions: Mapping[str, Function], *, bindings: bool
    ) -> None:
        self._schema = schema
        self._sizes = sizes
        self._macros = {**_MACROS, **(macros.BINDINGS if bindings else {})}
        self._functions = functions

    def compile(self, text: str, *, boolean: bool, estimate: bool = True) -> Compiled:
        """Compile an expression; with `boolean`, an expression of another type is an error."""
        # Parser, checker and planner recurse over the tree; a caller deep in the stack would leave them too few frames.
        with raised_recursion_limit(2 * DEPTH_MAX):
            return self._compile(text, boolean=boolean, estimates=estimate)

    def _compile(self, text: str, *, boolean: bool, estimates: bool) -> Compiled:
        source = Source(text)
        tree, error = self._check(source)
        if tree is None:
            return Compiled(text, error=f"compilation failed: {error}")
        if boolean and (tree.type not in (BOOL, ANY) or tree.type.nullable):
            return Compiled(text, tree.type, error=f"must evaluate to bool or the unknown type, not {tree.type}")
        try:
            program = Planner(self._schema, self._functions).plan(tree)
        except PlanError as failure:
            return Compiled(text, tree.type, error=f"program instantiation failed: {failure}", is_internal=True)
        estimate = CostEstimator(self._functions, self._sizes).cost(tree) if estimates else None
        return Compiled(text, tree.type, program, estimate=estimate, names=frozenset(_referenced_names(tree)))

    def _check(self, source: Source) -> tuple[Node | None, str]:
        """Return the checked tree and no error, or None and the error."""
        parser = Parser(source.text, self._macros)
        try:
            tree = parser.parse()
        except BadSyntax:
            return None, source.render(errors.describe_syntax_errors(source))
        if parser.issues:
            return None, _render_issues(source, parser.issues)
        checker = Checker(self._schema, self._functions)
        checker.check(tree)
        # Validators read types, so they run only on a tree that type-checks, as in cel-go.
        issues = checker.issues or validate(tree)
        return (None, _render_issues(source, issues)) if issues else (tree, "")


def _referenced_names(tree: Node) -> Iterator[str]:
    if isinstance(tree, Ident):
        yield tree.name
    for child in tree.children():
        yield from _referenced_names(child)


def _render_issues(source: Source, issues: list[Issue]) -> str:
    return source.render([source.locate(issue) for issue in issues])
