"""Files that steps name."""

from pathlib import Path
from typing import Any

import pytest

from mockkube.scenario.named_files import find_named_files


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("one.yaml", "with space.yaml", "below/two.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param({"file": "one.yaml"}, ["one.yaml"], id="a field"),
        pytest.param("with space.yaml", ["with space.yaml"], id="a whole text"),
        pytest.param(["apply -f one.yaml --filename=below/two.yaml"], ["one.yaml", "below/two.yaml"], id="flags"),
        pytest.param({"file": "($folder)/two.yaml"}, ["below/two.yaml"], id="a variable"),
        pytest.param({"file": "($unknown).yaml", "count": 1}, [], id="a variable of the run"),
        pytest.param({"file": "below"}, [], id="a directory"),
        pytest.param({"data": {"text": "no file " * 9}}, [], id="no file"),
    ],
)
def test_names_of_files_are_found(directory: Path, arguments: Any, names: list[str]) -> None:
    assert find_named_files([arguments], directory, {"folder": "below"}) == [directory / name for name in names]
