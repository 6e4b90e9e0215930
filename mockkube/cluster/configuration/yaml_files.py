"""Read small YAML files that hold one mapping, with readable errors."""

from pathlib import Path
from typing import Any, Final

FILE_BYTES_MAX: Final = 1 << 20  # a larger file is not a configuration


def read_mapping(path: Path, kind: str) -> dict[str, Any]:
    """Return the mapping in a file; ValueError names file, mistake and remedy."""
    import yaml  # only a configuration file needs it

    from mockkube.api.decoding import bounded_yaml

    try:
        with path.open("rb") as file:
            # Bounded before parsing: the path may name a device or a huge file by mistake.
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: give a readable {kind} file") from None
    if len(content) > FILE_BYTES_MAX:
        raise ValueError(f"{path}: larger than {FILE_BYTES_MAX} bytes: give a {kind} file")
    try:
        document = bounded_yaml.load(content)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"{path}: not valid YAML: {_first_line(error)}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path}: not a mapping: give a {kind} file, which begins with its apiVersion and kind")
    return document


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
