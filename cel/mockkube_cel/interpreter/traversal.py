"""Cost of traversing a value with everything in it.

upstream 1.36: apiserver/pkg/cel/library/cost.go
"""

from typing import Any

from mockkube_cel.sizes import TRAVERSAL_FACTOR
from mockkube_cel.values import from_key


def charge_deep_traversal(value: Any) -> int:
    """Return the cost: strings by their bytes, rounded down; everything else 1 each."""
    if type(value) is str:
        return int(len(value.encode(errors="surrogatepass")) * TRAVERSAL_FACTOR)
    if type(value) is bytes:
        return int(len(value) * TRAVERSAL_FACTOR)
    if isinstance(value, list):
        return sum(map(charge_deep_traversal, value))
    if isinstance(value, dict):
        return sum(charge_deep_traversal(from_key(key)) + charge_deep_traversal(item) for key, item in value.items())
    return 1
