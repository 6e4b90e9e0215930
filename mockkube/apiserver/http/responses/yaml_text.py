"""Encode JSON values as YAML, formatted as Kubernetes does."""

from typing import Any, Final

import yaml


class _Dumper(yaml.CSafeDumper):
    """YAML writer with sorted keys, block style, and quotes around text that could be read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        """Repeat equal values instead of writing anchors."""
        return True


def _represent_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value and not value.startswith(" ") else None
    # YAML 1.1 reads these as booleans, which PyYAML's own resolver does not.
    if value in ("y", "Y", "n", "N"):
        style = '"'
    if style is None and value and not _is_plain_text(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style if value else '"')


def _is_plain_text(value: str) -> bool:
    """Return whether YAML 1.1 reads the unquoted value as text."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]  # not typed
    return tag == "tag:yaml.org,2002:str"


_RESOLVER: Final = yaml.resolver.Resolver()
_Dumper.add_representer(str, _represent_text)


def to_yaml(value: Any) -> bytes:
    """Return a JSON value as YAML."""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=80)
    return str(text).encode()
