"""An environment: the variables an expression may speak of, and what becomes of it there.

This module is light. The `compiler` with its stages and libraries is loaded when the first expression is compiled: most
servers never see one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockkube.matching.cel.compiler import Compiler
    from mockkube.matching.cel.program import Program
    from mockkube.matching.cel.schema import Schema
    from mockkube.matching.cel.sizes import Cost, Path, Size
    from mockkube.matching.cel.types import CelType


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of an expression: a program, or the error that kept it from being one.

    The type is there once the checker was content, the estimate once there is a program. `is_internal` tells an
    error that upstream blames on itself from one it blames on the expression.
    """

    text: str
    type: CelType | None = None
    program: Program | None = None
    error: str | None = None
    is_internal: bool = False
    estimate: Cost | None = None
    names: frozenset[str] = frozenset()
    """The names that the program refers to."""


class Environment:
    """Compiles expressions over some variables."""

    def __init__(self, schema: Schema, sizes: Mapping[Path, Size], *, bindings: bool = False) -> None:
        self._schema = schema
        self._sizes = sizes
        self._bindings = bindings

    def compile(self, text: str, *, boolean: bool = True) -> Compiled:
        """Compile an expression that is to yield a boolean, or anything if that is not asked for."""
        return self._compiler.compile(text, boolean=boolean)

    @cached_property
    def _compiler(self) -> Compiler:
        from mockkube.matching.cel.compiler import Compiler

        return Compiler(self._schema, self._sizes, bindings=self._bindings)
