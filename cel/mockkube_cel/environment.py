"""Environments: which variables and functions expressions may use.

This module is light. The `compiler` with its stages and libraries is imported when the first expression is compiled:
many programs never compile one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mockkube_cel.sizes import SizeEstimator, estimate_no_size

if TYPE_CHECKING:
    from mockkube_cel.compiler import Compiler
    from mockkube_cel.declarations import Function
    from mockkube_cel.program import Program
    from mockkube_cel.schema import Schema
    from mockkube_cel.sizes import Cost
    from mockkube_cel.types import CelType


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled expression: its program, or the error that prevented one.

    `type` is set once the expression type-checks, `estimate` once there is a program, if requested. `is_internal`
    marks errors that upstream reports as its own rather than the expression's.
    """

    text: str
    type: CelType | None = None
    program: Program | None = None
    error: str | None = None
    is_internal: bool = False
    estimate: Cost | None = None
    # Names that the program refers to.
    names: frozenset[str] = frozenset()


def standard_functions() -> Mapping[str, Function]:
    """Return the functions of CEL and its extension libraries, without those of Kubernetes."""
    from mockkube_cel.libraries import catalogue

    return catalogue.load_functions()


class Environment:
    """Compiles expressions over some variables.

    `sizes` bounds values for cost estimates. `functions` returns what expressions may call; it is called for the
    first expression, so that what it needs is imported no earlier.
    """

    def __init__(
        self,
        schema: Schema,
        sizes: SizeEstimator = estimate_no_size,
        *,
        bindings: bool = False,
        functions: Callable[[], Mapping[str, Function]] = standard_functions,
    ) -> None:
        self._schema = schema
        self._sizes = sizes
        self._bindings = bindings
        self._functions = functions

    def compile(self, text: str, *, boolean: bool = True, estimate: bool = True) -> Compiled:
        """Compile an expression; with `boolean`, an expression of another type is an error.

        Without `estimate` no cost is estimated: only API servers limit it, evaluation does not need it.
        """
        return self._compiler.compile(text, boolean=boolean, estimate=estimate)

    @cached_property
    def _compiler(self) -> Compiler:
        from mockkube_cel.compiler import Compiler

        return Compiler(self._schema, self._sizes, self._functions(), bindings=self._bindings)
