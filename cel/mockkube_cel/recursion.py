"""Room on Python's stack for expressions that nest deep; Python's own limit is a guard, not a need."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

DEEP: Final = 100
"""Up to this depth the usual room is enough."""
_FRAMES_PER_LEVEL: Final = 16


@contextmanager
def room_for(levels: int) -> Iterator[None]:
    """Let recursion go deeper than usual within the block."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + levels * _FRAMES_PER_LEVEL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
