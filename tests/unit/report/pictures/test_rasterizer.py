"""PNG of a picture."""

import struct
import sys

import pytest

from mockkube.report.pictures.card import Card, render_card
from mockkube.report.pictures.rasterizer import RasterizerError, check_rasterizer, render_png


def test_a_png_has_the_size_of_the_picture() -> None:
    pytest.importorskip("resvg_py")
    try:
        check_rasterizer()
    except RasterizerError as error:
        pytest.skip(str(error))
    png = render_png(render_card(Card("mockkube test", "", "It works.", "good", "mockkube test")))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (1200, 630)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    expected = r"pip install '/path/to/mockkube\[picture\]' \(.*\), or give a file that ends in .svg"
    with pytest.raises(RasterizerError, match=expected):
        check_rasterizer()
