"""The types of Kubernetes releases in mockkube/api/data/published are those of the package they were made from."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mockkube.api.schema import Schema
from mockkube.features.versions import NEWEST, OLDEST, Version

TOOL = Path(__file__).parents[3] / "tools" / "published_types.py"
RELEASES = [Version(OLDEST.major, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1)]

pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed: nothing to compare with")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("published_types", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
