"""Manifests: the forms in which a test may give them, and the errors of those that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from mockkube.testing.errors import ManifestError
from mockkube.testing.manifests import read_manifests


def make(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


POD = make("Pod", "web")
TEXT = json.dumps(POD)
SEVERAL = "# comment\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n---\n---\n" + json.dumps(
    make("Secret", "s")
)


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        pytest.param(POD, ["web"], id="an object"),
        pytest.param([POD, make("Secret", "s")], ["web", "s"], id="several objects"),
        pytest.param(TEXT, ["web"], id="JSON text in one line"),
        pytest.param(SEVERAL, ["web", "s"], id="YAML documents"),
        pytest.param({"apiVersion": "v1", "kind": "List", "items": [POD]}, ["web"], id="a list object"),
        pytest.param([make("Pod", "p"), make("Namespace", "n")], ["n", "p"], id="a namespace comes before the rest"),
        pytest.param(
            [make("Widget", "w"), make("Namespace", "n"), make("CustomResourceDefinition", "c")],
            ["c", "n", "w"],
            id="a CRD comes first",
        ),
    ],
)
def test_forms(manifest: Any, names: list[str]) -> None:
    assert [obj["metadata"]["name"] for obj in read_manifests(manifest)] == names


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_is_a_file_or_a_directory(tmp_path: Path, as_text: bool) -> None:
    (tmp_path / "b.yaml").write_text(json.dumps(make("Secret", "b")))
    (tmp_path / "a.json").write_text(TEXT)
    (tmp_path / "readme.md").write_text("# not a manifest")
    given = str if as_text else Path
    assert [obj["metadata"]["name"] for obj in read_manifests(given(tmp_path))] == ["web", "b"]
    assert [obj["metadata"]["name"] for obj in read_manifests(given(tmp_path / "b.yaml"))] == ["b"]


def test_the_objects_of_the_caller_stay_as_they_are() -> None:
    given = make("Pod", "web")
    (read,) = read_manifests(given)
    read["metadata"]["namespace"] = "elsewhere"
    assert given == make("Pod", "web")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param("missing.yaml", "'missing.yaml' is neither a file nor a manifest", id="a file that is not there"),
        pytest.param(Path("missing.yaml"), "missing.yaml: No such file", id="a path that is not there"),
        pytest.param("a: [\n", "the manifest: document 0: .*yaml", id="text that is no YAML"),
        pytest.param("a: 1\n", "document 0 has no apiVersion and no kind", id="no object of the API"),
        pytest.param([POD, "x"], "object 1 of the manifest is no object: 'x'", id="no object in a list"),
        pytest.param({"apiVersion": "v1", "kind": "Pod"}, r"Pod has no metadata\.name", id="no name"),
        pytest.param("# nothing\n", "contains no object", id="nothing"),
    ],
)
def test_errors(manifest: Any, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        read_manifests(manifest)
