"""Recursion limit for deeply nested expressions."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Depth up to which the usual recursion limit is enough.
SHALLOW_DEPTH_MAX: Final = 100
_FRAMES_PER_LEVEL: Final = 16


@contextmanager
def raised_recursion_limit(levels: int) -> Iterator[None]:
    """Raise Python's recursion limit within the block, by what an expression of that depth needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + levels * _FRAMES_PER_LEVEL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
