"""The glossary: each class that it names in its first column exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| ([^|]+) \|[^|]+\|$", re.MULTILINE)
_NAME = re.compile(r"`([A-Z][A-Za-z0-9]*)`")


def _find_class_names() -> frozenset[str]:
    """Return the names of all classes, and of aliases that modules define in CamelCase."""
    names = set[str]()
    for folder in ("mockkube", "storage/mockkube_storage", "cel/mockkube_cel"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.Assign):
                    names.update(target.id for target in node.targets if isinstance(target, ast.Name))
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    names.add(node.target.id)
    return frozenset(names)


GLOSSARY_NAMES = [
    name for row in _ROW.findall((ROOT / "docs" / "glossary.md").read_text()) for name in _NAME.findall(row)
]
CLASS_NAMES = _find_class_names()


@pytest.mark.parametrize("name", sorted(set(GLOSSARY_NAMES)))
def test_a_class_of_the_glossary_exists(name: str) -> None:
    assert name in CLASS_NAMES


def test_a_class_has_one_row() -> None:
    assert [name for name in set(GLOSSARY_NAMES) if GLOSSARY_NAMES.count(name) > 1] == []


def test_each_row_has_two_columns() -> None:
    rows = [line for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line.startswith("|")]
    assert [row for row in rows if row.count("|") != 3] == []
