"""Libraries of CEL itself and of cel-go's extensions."""

from collections.abc import Mapping
from functools import cache

from mockkube_cel.declarations import Function, merge
from mockkube_cel.libraries import (
    conversions,
    lists,
    maps,
    networks,
    operators,
    optionals,
    regexes,
    sets,
    standard,
    strings,
    urls,
)


@cache
def load_functions() -> Mapping[str, Function]:
    """Return the functions of all libraries in this package, by name."""
    # The order is upstream's: overloads of one function are tried in the order of their libraries.
    libraries = (operators, conversions, standard, urls, regexes, lists, optionals, strings, sets, networks, maps)
    return merge(library.FUNCTIONS for library in libraries)
