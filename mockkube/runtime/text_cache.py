"""Cache for functions of texts that clients sent, bounded in bytes as well as in entries."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar, cast

# Longest arguments, together, whose result is cached: headers of unauthenticated clients may have 64 KiB each.
LENGTH_MAX: Final = 512

P = ParamSpec("P")
R = TypeVar("R")


def cache_short_texts(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like `lru_cache` for a function whose positional arguments are texts."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = cast("Callable[P, R]", lru_cache(maxsize)(function))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            short = sum(map(len, args)) <= LENGTH_MAX  # type: ignore[arg-type]  # they are texts
            return cached(*args, **kwargs) if short else function(*args, **kwargs)

        return call

    return decorate
