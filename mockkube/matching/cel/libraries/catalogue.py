"""Catalogue of the libraries in Kubernetes' base CEL environment.

upstream 1.36: apiserver/pkg/cel/environment/base.go
"""

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

from mockkube.matching.cel.libraries import authorization, formats, patches, quantities, semver


@cache
def load_functions(*, with_patches: bool) -> Mapping[str, Function]:
    """Return the functions by name; `with_patches` adds those of mutating admission policies."""
    # The order is upstream's: it decides which overloads of a function are tried first.
    libraries = (
        operators, conversions, standard, urls, regexes, lists, authorization, optionals, quantities, strings, sets,
        networks, formats, maps, semver,
    )  # fmt: skip
    return merge(library.FUNCTIONS for library in (*libraries, *((patches,) if with_patches else ())))
