"""Several values in one cell: the first few, and the number of others."""

from collections.abc import Sequence

from mockkube.api.printers.reading import sections, string
from mockkube.api.printers.table import UNSET
from mockkube.api.types import ReadOnlyObject

SHOWN_MAX = 3


def shortened(shown: Sequence[str], count: int, *, empty: str = UNSET) -> str:
    """Return the texts joined by commas, with the number left out of `count`; `empty` if there are none."""
    line = ",".join(shown[:SHOWN_MAX])
    if count > SHOWN_MAX:
        return f"{line} + {count - SHOWN_MAX} more..."
    return line or empty


def containers(template: ReadOnlyObject) -> list[str]:
    """Return the cells for names and images of a pod template's containers."""
    found = sections(template, "spec", "containers")
    return [",".join(string(item, key) for item in found) for key in ("name", "image")]
