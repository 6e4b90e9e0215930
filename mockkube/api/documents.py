"""Reading a request body: JSON or YAML in, a Python value out, with Go's complaints about what does not parse."""

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson
import yaml

_DEPTH_MAX: Final = 10_000
_SPACE: Final = " \t\r\n"


class Unreadable(ValueError):
    """The text is not a document; the message is the parser's."""


def read_json(body: bytes) -> Any:
    """The value of a JSON text; Unreadable with the message of Go's parser."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable(_json_complaint(body)) from error


def _json_complaint(body: bytes) -> str:
    from mockkube.api import go_json

    return go_json.complaint(body)


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.1 as Kubernetes reads it: dates stay text, keys become text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
