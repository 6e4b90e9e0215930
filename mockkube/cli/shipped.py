"""The scenarios and rollout plans that ship with mockkube: in a checkout, and in an installed package."""

from pathlib import Path
from typing import Final

import mockkube

FOLDER: Final = "conformance"
_PACKAGE: Final = Path(mockkube.__file__).parent


def shipped_directory() -> Path:
    """Return where they are: beside the package in a checkout, else in it."""
    checkout = _PACKAGE.parent / FOLDER
    return checkout if (checkout / "plans").is_dir() else _PACKAGE / FOLDER


def find_shipped(path: str) -> Path:
    """Return the path; where there is none and it begins with `conformance/`, the one of that name that ships."""
    given = Path(path)
    if given.exists() or given.parts[:1] != (FOLDER,):
        return given
    shipped = shipped_directory().joinpath(*given.parts[1:])
    return shipped if shipped.exists() else given
