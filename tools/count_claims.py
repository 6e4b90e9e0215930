"""Copy the number of claims and their outcomes from docs/conformance.md into README.md."""

import re
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
SENTENCE: Final = re.compile(r"\d+ claims: .*?\.(?=\n)", re.DOTALL)


def main() -> None:
    """Replace the sentence in README.md by that of the page, broken into lines as the README is."""
    found = SENTENCE.search((TOP / "docs" / "conformance.md").read_text())
    assert found is not None, "docs/conformance.md has a line like '3 claims: 2 hold, 1 does not.'"
    readme = TOP / "README.md"
    readme.write_text(SENTENCE.sub(lambda _: found.group(), readme.read_text(), count=1))


if __name__ == "__main__":
    main()
