"""Colors and type that reports, pictures and the page of a cluster share."""

import re
from pathlib import Path

import pytest

from mockkube.report.environment import read_template
from mockkube.report.pictures.tokens import read_tokens

PAGE = Path(__file__).parents[3] / "ui" / "src" / "style.css"
# Set by the page itself: the width of its scroll bar.
OWN = {"bar"}


def test_the_dark_theme_has_every_color_of_the_light_one() -> None:
    _, _, dark = read_template("tokens.css").partition("@media")
    fonts = {"text", "mono"}
    assert set(re.findall(r"--([\w-]+):", dark)) == set(read_tokens()) - fonts


@pytest.mark.parametrize("name", ["page.css", "pictures.css", "card.css", "ui"])
def test_styles_use_only_tokens_that_there_are(name: str) -> None:
    style = PAGE.read_text() if name == "ui" else read_template(name)
    used = set(re.findall(r"var\(--([\w-]+)", style))
    assert used
    assert used <= set(read_tokens()) | OWN
