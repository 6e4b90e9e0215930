"""CEL environments with the functions that Kubernetes adds to the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockkube_cel.environment import Environment
from mockkube_cel.sizes import estimate_no_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockkube_cel.declarations import Function
    from mockkube_cel.schema import Schema
    from mockkube_cel.sizes import SizeEstimator


def kubernetes_environment(
    schema: Schema, sizes: SizeEstimator = estimate_no_size, *, bindings: bool = False
) -> Environment:
    """Return an environment whose expressions may call Kubernetes' functions."""

    def functions() -> Mapping[str, Function]:
        # Imported for the first expression: most servers never compile one, and the libraries take long to load.
        from mockkube.matching.cel.libraries import catalogue

        return catalogue.load_functions(with_patches=schema.allows_object_literals)

    return Environment(schema, sizes, bindings=bindings, functions=functions)
