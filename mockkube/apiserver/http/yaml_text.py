"""JSON values as YAML, written as Kubernetes does."""

from typing import Any, Final

import yaml


class _Dumper(yaml.CSafeDumper):
    """YAML as Kubernetes writes it: sorted keys, block style, text that looks like something else quoted."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value again where it stands again."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value and not value.startswith(" ") else None
    if value in ("y", "Y", "n", "N"):
        style = '"'
    if style is None and value and not _looks_like_text(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style if value else '"')


def _looks_like_text(value: str) -> bool:
    """Whether YAML 1.1 reads the bare value as text."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]  # not typed
    return tag == "tag:yaml.org,2002:str"


_RESOLVER: Final = yaml.resolver.Resolver()
_Dumper.add_representer(str, _text)


def to_yaml(value: Any) -> bytes:
    """A JSON value as YAML."""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=80)
    return str(text).encode()
