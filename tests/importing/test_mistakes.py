"""Mistakes of who imports: each is named with the file, the place and what to give instead."""

import pytest

from mockkube.importing.cluster_import import ImportOptions, import_objects
from mockkube.importing.dump_files import parse_dump
from mockkube.importing.errors import UnreadableDumpError
from mockkube.importing.import_text import render_import

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": []}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(
            b"kind: Pod\n---\nkind: Pod\nmetadata: {name: [\n",
            r"dump\.yaml: line 5: neither JSON nor YAML of objects: .*: give what 'kubectl get",
            id="the line is that of the file, not of the document",
        ),
        pytest.param(b"a: 1\n", "each document needs apiVersion and kind: give what 'kubectl get", id="other YAML"),
        pytest.param(b'{"kind": ', "neither JSON nor YAML of objects: .*: give what 'kubectl get", id="cut JSON"),
    ],
)
def test_a_file_that_is_no_dump_is_named_with_the_remedy(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDumpError, match=reason):
        list(parse_dump(content, "dump.yaml"))


def test_a_gate_that_no_component_has_is_a_mistake() -> None:
    options = ImportOptions(feature_gates={"MemoryQos": True})
    with pytest.raises(UnreadableDumpError, match=r"no component of .* has a gate MemoryQos: did you mean MemoryQoS\?"):
        import_objects([POD], options)


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    entries = import_objects([POD]).contents.entries
    [value] = [value for key, value in entries.items() if key.endswith("/pods/default/web")]
    assert b'"namespace":"default"' in value


def test_the_first_line_says_how_much_is_left_out() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
    report = import_objects([POD, scale]).report
    lines = list(render_import(report, None, 10))
    assert lines[0] == "Imported 2 objects of 2 kinds: Kubernetes 1.36; 1 left out, see below"
    assert lines[1] == "Version 1.36 is assumed, as no node or static pod has one: --version sets it"
    assert "Left out: 1 Scale.autoscaling: 1.36 stores no Scale of autoscaling/v1, and no CRD defines it" in lines
