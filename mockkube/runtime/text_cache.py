"""A cache of functions whose arguments are texts that clients have sent: bounded by bytes, not by entries alone."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar, cast

LENGTH_MAX: Final = 512
"""Longest texts that are kept, together; results of longer ones are computed anew."""

P = ParamSpec("P")
R = TypeVar("R")


def cache_of_texts(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like `lru_cache` for a function whose positional arguments are texts."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = cast("Callable[P, R]", lru_cache(maxsize)(function))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            short = sum(map(len, args)) <= LENGTH_MAX  # type: ignore[arg-type]  # they are texts
            return known(*args, **kwargs) if short else function(*args, **kwargs)

        return call

    return decorate
