"""docs/README.md lists every page."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "README.md").read_text())
    pages = {str(path.relative_to(DOCS)) for folder in (DOCS, DOCS / "how-to") for path in folder.glob("*.md")}
    assert sorted(listed) == sorted([*pages - {"README.md"}, "../CHANGELOG.md"])
