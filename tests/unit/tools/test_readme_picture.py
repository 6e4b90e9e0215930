"""The picture of the README, drawn from a run."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("readme_picture")


def test_the_picture_says_what_was_seen(tool: ModuleType) -> None:
    run = tool.Run({0: 7, 3: 5}, 2, (("a → b", True), ("b → a", False)))
    texts = [element.text for element in ElementTree.fromstring(tool.draw(run)).iter() if element.text]
    assert "12 in 10 s" in texts
    assert "2 pods stay" in texts
    assert texts[texts.index("a → b") - 1] == "✓"
    assert texts[texts.index("b → a") - 1] == "✗"


def test_the_readme_says_what_the_picture_shows(tool: ModuleType) -> None:
    title = ElementTree.parse(tool.PICTURE).getroot()[0].text
    readme = " ".join((tool.PICTURE.parents[2] / "README.md").read_text().split())
    assert readme.startswith(f"# mockkube [![{title}](docs/pictures/demo.svg)]")


@pytest.mark.slow
def test_the_picture_is_that_of_a_run_now(tool: ModuleType) -> None:
    assert tool.PICTURE.read_text() == tool.draw(tool.play()), "outdated: python tools/readme_picture.py"
