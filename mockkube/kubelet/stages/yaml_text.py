"""YAML that templates of stages write and read."""

from typing import Any

import yaml

from mockkube.api.decoding import bounded_yaml

YAMLError = yaml.YAMLError


class _Loader(yaml.CSafeLoader):
    """YAML loader that keeps timestamps as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text; raise YAMLError if it is none."""
    return bounded_yaml.load(text, _Loader)


def format_yaml(value: Any) -> str:
    """Return a value as YAML."""
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False, sort_keys=True)
    return text
