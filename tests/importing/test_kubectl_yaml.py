"""Parser of kubectl's YAML: whatever it accepts, it reads as the complete parser does."""

import pytest
import yaml

from mockkube.importing.dump_files import parse_dump
from mockkube.importing.kubectl_yaml import parse_kubectl_yaml
from tests.importing import large_dump, realistic

ACCEPTED = (
    "a: b\nc:\n- d\n- e: f\n  g: h\n",
    "a:\n  - b\n  - c: d\n",
    "a: 10.0.0.1\nb: 1.5\nc: -3\nd: 100m\ne: v1\nf: 2026-03-01T10:00:00Z\n",
    "a: 'it''s'\nb: \"x\\ny\"\nc: ''\nd: \"\"\n",
    "a: {}\nb: []\nc:\nd: null\ne: ~\nf: true\n",
    "a: |\n  one\n    two\n\n  three\nb: c\n",
    "a: |-\n  one\n\nb: c\n",
    "- - a\n  - b\n- c\n",
    "a.b/c: d\n'e f': g\n",
    "url: https://example.dev:443/a?b=c#d\n",
    "a:\n- b: |\n    text\n  c: d\n- {}\n",
)
LEFT_TO_THE_OTHER = (
    "a: &x b\nc: *x\n",
    "a: {b: c}\n",
    "a: b\n  c\n",
    "a: >\n  folded\n",
    "a: 0x1F\nb: 1e3\nc: 12:30:00\nd: 1_000\ne: 0644\n",
    "a: yes\nb: No\n",
    "a: b # comment\n",
    "a: !!str 1\n",
    "a: |2\n    indented\n",
    "a: b: c\n",
)


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_kubectl_writes_is_read_as_by_the_complete_parser(text: str) -> None:
    # Times stay text, as Kubernetes has them.
    assert parse_kubectl_yaml(text.encode()) == yaml.load(text, Loader=_TextLoader)


@pytest.mark.parametrize("text", LEFT_TO_THE_OTHER)
def test_everything_else_is_left_to_the_complete_parser(text: str) -> None:
    assert parse_kubectl_yaml(text.encode()) is None


def test_lines_that_repeat_share_nothing_that_can_change() -> None:
    first, second = (parse_kubectl_yaml(b"a: {}\nb:\n- []\n") for _ in range(2))
    first["a"]["x"] = first["b"][0] = 1
    assert second == {"a": {}, "b": [[]]}


def test_a_dump_comes_back_as_it_was() -> None:
    items = list(large_dump.make_objects(3, 60))
    text = yaml.dump(realistic.make_list(items), Dumper=_PlainDumper, width=1 << 20)
    assert list(parse_dump(text.encode(), "dump.yaml")) == items


class _TextLoader(yaml.SafeLoader):
    pass


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True
