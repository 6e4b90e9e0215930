"""Load YAML with the line of every value, so that errors can name it."""

from pathlib import Path
from typing import Any, Final

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.decoding.bounded_yaml import SAFE_LOADER
from mockkube.scenario.errors import ScenarioError

FILE_BYTES_MAX: Final = 16 << 20
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_MERGE: Final = "tag:yaml.org,2002:merge"


class LocatedMapping(dict[str, Any]):
    """Mapping with its line and those of its values."""

    line = 0
    lines: dict[str, int]


class LocatedSequence(list[Any]):
    """List with its line and those of its items."""

    line = 0
    lines: list[int]


class _Loader(SAFE_LOADER):  # type: ignore[misc] # which of two classes it is, the machine decides
    """Safe loader; times stay text, as in Kubernetes, and duplicate keys are errors."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in SAFE_LOADER.yaml_implicit_resolvers.items()
}


def _construct_mapping(loader: Any, node: Any) -> Any:
    own = [key.value for key, _ in node.value if key.tag != _MERGE]
    loader.flatten_mapping(node)
    # Yielded before it is filled: PyYAML resolves anchors that refer to their own parent this way.
    mapping = LocatedMapping()
    yield mapping
    mapping.line, mapping.lines = node.start_mark.line + 1, {}
    merged = len(node.value) - len(own)  # what `<<` brings stands first, and gives way to what is written here
    for index, (key_node, value_node) in enumerate(node.value):
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a key is a text", problem_mark=key_node.start_mark)
        key = key_node.value  # as it is written: `on` is no truth value here
        if index < merged and key in own:
            continue
        if index >= merged and key in own[: index - merged]:
            raise yaml.MarkedYAMLError(problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark)
        mapping[key] = loader.construct_object(value_node, deep=True)
        mapping.lines[key] = key_node.start_mark.line + 1


def _construct_sequence(loader: Any, node: Any) -> Any:
    sequence = LocatedSequence()
    yield sequence
    sequence.line, sequence.lines = node.start_mark.line + 1, []
    for item in node.value:
        sequence.append(loader.construct_object(item, deep=True))
        sequence.lines.append(item.start_mark.line + 1)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:seq", _construct_sequence)


def read_file(path: Path) -> list[Any]:
    """Return the non-empty documents of a file; ScenarioError if it cannot be read."""
    try:
        with path.open("rb") as file:
            # Bounded: the path may name a device.
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise ScenarioError(f"{path}: larger than {FILE_BYTES_MAX} bytes: give a file of scenarios or manifests")
        text = content.decode()
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}: give a file that can be read") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not a text in UTF-8: give a YAML file") from None
    return read_text(text, str(path))


def read_text(text: str, file: str) -> list[Any]:
    """Return the non-empty documents of a text; `file` is its name in errors."""
    try:
        loaded = bounded_yaml.load_all(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = 0 if mark is None else mark.line + 1
        raise ScenarioError(f"{file}:{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ScenarioError(f"{file}: not valid YAML: {' '.join(str(error).split())[:200]}") from None
    return [document for document in loaded if document is not None]


def copy_without_lines(node: Any) -> Any:
    """Return a copy of a node as plain mappings and lists, as requests have them."""
    if isinstance(node, dict):
        return {key: copy_without_lines(value) for key, value in node.items()}
    return [copy_without_lines(item) for item in node] if isinstance(node, list) else node


def get_line(node: Any, key: str | int | None = None) -> int:
    """Return the line of a node, or of its value; 0 if unknown."""
    lines = getattr(node, "lines", None)
    if key is not None and lines is not None:
        try:
            return int(lines[key])
        except (KeyError, IndexError):
            pass
    return int(getattr(node, "line", 0))
