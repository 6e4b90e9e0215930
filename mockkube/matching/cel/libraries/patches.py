"""JSON patch function `jsonpatch.escapeKey`.

upstream 1.36: apiserver/pkg/cel/library/jsonpatch.go
"""

from typing import Final

from mockkube_cel import costs
from mockkube_cel.declarations import Function, global_overload
from mockkube_cel.types import STRING


def escape_key(text: str) -> str:
    """Compute `jsonpatch.escapeKey(text)`."""
    # The tilde first: it must not escape the tildes of escaped slashes.
    return text.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Final = (
    Function(
        "jsonpatch.escapeKey",
        (global_overload("string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key),),
        estimate=costs.estimate_traversal(keeps_size=True),
        charge=costs.charge_traversal(),
    ),
)
