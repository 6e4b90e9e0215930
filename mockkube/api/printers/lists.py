"""Cells of several values: the first few, and the number of the others."""

from collections.abc import Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import sections, string
from mockkube.api.printers.table import UNSET

SHOWN_MAX = 3


def join_shortened(shown: Sequence[str], count: int, *, empty: str = UNSET) -> str:
    """Join the first few texts and the number of others among `count`; `empty` if there are none."""
    line = ",".join(shown[:SHOWN_MAX])
    if count > SHOWN_MAX:
        return f"{line} + {count - SHOWN_MAX} more..."
    return line or empty


def container_cells(template: ReadOnlyObject) -> list[str]:
    """Return the cells for names and images of a pod template's containers."""
    templates = sections(template, "spec", "containers")
    return [",".join(string(item, key) for item in templates) for key in ("name", "image")]
