"""Find the scenarios and rollout plans that ship with mockkube."""

from pathlib import Path
from typing import Final

import mockkube

FOLDER: Final = "conformance"
_PACKAGE: Final = Path(mockkube.__file__).parent


def shipped_directory() -> Path:
    """Return their directory: beside the package in a checkout, inside it when installed."""
    checkout = _PACKAGE.parent / FOLDER
    return checkout if (checkout / "plans").is_dir() else _PACKAGE / FOLDER


def find_shipped(path: str) -> Path:
    """Return the path; if it does not exist and begins with `conformance/`, the shipped file of that name."""
    given = Path(path)
    if given.exists() or given.parts[:1] != (FOLDER,):
        return given
    shipped = shipped_directory().joinpath(*given.parts[1:])
    return shipped if shipped.exists() else given
