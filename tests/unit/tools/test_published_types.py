"""The types of Kubernetes releases in mockkube/api/data/published are those of the package they were made from."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from mockkube.api.schema import Schema
from mockkube.features.versions import NEWEST, OLDEST, Version

RELEASES = [Version(OLDEST.major, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1)]

pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed: nothing to compare with")


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("published_types")


@pytest.mark.parametrize("version", RELEASES, ids=str)
def test_types_and_descriptions_are_those_of_the_package(tool: ModuleType, version: Version) -> None:
    schema, published = Schema(version), tool.read_package(version)
    assert list(schema.definitions) == list(published)
    assert [name for name in published if schema.describe_definition(name) != published[name]] == []


def test_files_are_as_the_tool_writes_them(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = {path.name: path.read_bytes() for path in tool.PUBLISHED.iterdir()}
    monkeypatch.setattr(tool, "PUBLISHED", tmp_path)
    tool.main()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == shipped
