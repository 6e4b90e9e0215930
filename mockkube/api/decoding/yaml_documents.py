"""YAML as Kubernetes parses it, converted to JSON, with go-yaml's errors; see `documents.parse_yaml`."""

import math
import re
from typing import Any, Final

import yaml

from mockkube.api.decoding.documents import (
    ALIASED_MAX,
    DEPTH_MAX,
    TOO_DEEP,
    YAML_VALUES_MAX,
    DuplicateFields,
    InvalidDocument,
    YamlDocument,
    check_container_count,
)
from mockkube.api.errors import TooLarge
from mockkube.api.fields import quote

_INTEGER_MIN: Final = -(1 << 63)
_INTEGER_MAX: Final = (1 << 64) - 1
_GO_INFINITE: Final = {math.inf: "+Inf", -math.inf: "-Inf"}
_MERGE: Final = "tag:yaml.org,2002:merge"


def parse(body: bytes) -> YamlDocument:
    """Parse a YAML text; raise InvalidDocument with the message of Go's parser."""
    try:
        _check_size(body)
        loader = _Loader(body)
        try:
            return YamlDocument(_to_json(loader.get_data()), DuplicateFields(tuple(loader.duplicates)))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise InvalidDocument(f"yaml: {_format_line(error)}{_to_go_wording(error)}") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise InvalidDocument(f"yaml: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise InvalidDocument("yaml: exceeded max depth") from error


def _check_size(body: bytes) -> None:
    """Reject YAML that is too deep or too large, or whose aliases multiply, before values are built."""
    total, values, aliased, containers, opened = 0, 0, 0, 0, list[tuple[str | None, int]]()
    sizes: dict[str, int] = {}
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.DocumentEndEvent):
            return  # what comes after the first document nobody reads
        if isinstance(event, yaml.AliasEvent):
            aliased += sizes.get(str(event.anchor), 1)
            total += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, total))
            total += 1
            containers += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            values += 1
            if values > YAML_VALUES_MAX:
                # differs: upstream has no such limit
                raise TooLarge(f"Request entity too large: the limit of YAML is {YAML_VALUES_MAX} keys and values")
        if len(opened) > DEPTH_MAX:
            raise InvalidDocument(f"yaml: {TOO_DEEP}")
        check_container_count(containers)
        if aliased > ALIASED_MAX:
            raise InvalidDocument("yaml: document contains excessive aliasing")


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 loader of Kubernetes' dialect: a date stays text, and `y` is true."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []


# Without the resolver of timestamps: go-yaml leaves dates as text when it converts to JSON.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# go-yaml takes a single y or n for a boolean; PyYAML only the longer words.
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return str(node.value).lower() in ("y", "yes", "true", "on")


def _construct_map(loader: _Loader, node: yaml.Node) -> dict[str, Any]:
    """Construct a mapping and record duplicate keys; the last value counts."""
    if not isinstance(node, yaml.MappingNode):
        raise yaml.MarkedYAMLError(problem="cannot unmarshal into a map", problem_mark=node.start_mark)
    keys = set()
    for key_node, _ in node.value:
        if key_node.tag == _MERGE:
            continue
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, dict | list):
            raise yaml.MarkedYAMLError(problem="invalid map key", problem_mark=key_node.start_mark)
        text = _key_to_text(key)
        if (type(key), text) in keys:
            shown = quote(key) if isinstance(key, str) else text
            loader.duplicates.append(f"line {key_node.start_mark.line + 1}: key {shown} already set in map")
        keys.add((type(key), text))
    # Only now: merged keys may repeat own ones, which is no duplicate.
    loader.flatten_mapping(node)
    return {
        _key_to_text(loader.construct_object(key, deep=True)): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)


def _to_json(value: Any) -> Any:
    """Return the value as JSON, with keys as text; raise ValueError for values that JSON lacks."""
    match value:
        case dict():
            return {_key_to_text(key): _to_json(item) for key, item in value.items()}
        case list():
            return [_to_json(item) for item in value]
        case float() if not math.isfinite(value):
            raise ValueError(f"json: unsupported value: {_GO_INFINITE.get(value, 'NaN')}")
        case int() if not _INTEGER_MIN <= value <= _INTEGER_MAX:
            return _large_integer_to_json(value)
        case str() | int() | float() | None:
            return value
        case _:
            raise ValueError(f"cannot turn {type(value).__name__} into JSON")


def _large_integer_to_json(value: int) -> float | str:
    """Return a number that is too large for an integer as go-yaml does."""
    try:
        return float(value)
    except OverflowError:
        return str(value)


def _key_to_text(key: Any) -> str:
    match key:
        case str():
            return key
        case bool():
            return str(key).lower()
        case None:
            return "null"
        case int() | float():
            return str(key)
        case _:
            raise ValueError(f"unsupported map key of type {type(key).__name__}")


def _format_line(error: yaml.MarkedYAMLError) -> str:
    return f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""


def _to_go_wording(error: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's problem in go-yaml's words where they differ."""
    problem = error.problem or "invalid document"
    return problem.replace("are not allowed here", "are not allowed in this context")
