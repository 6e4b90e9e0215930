"""PNG of a picture, drawn by resvg, which the extra `picture` installs."""

from xml.sax.saxutils import quoteattr

from mockkube.report.pictures.tokens import read_tokens


class RasterizerError(Exception):
    """This machine cannot draw a PNG; the message names the remedy."""


def check_rasterizer() -> None:
    """Raise RasterizerError unless resvg and a font are installed."""
    try:
        import resvg_py
    except ImportError:
        raise RasterizerError(
            "a PNG needs the extra `picture`: pip install '/path/to/mockkube[picture]' (mockkube is not on PyPI), or "
            "give a file that ends in .svg"
        ) from None
    # Without a font, text is left out silently.
    if resvg_py.svg_to_bytes(svg_string=_make_sample("M")) == resvg_py.svg_to_bytes(svg_string=_make_sample("")):
        raise RasterizerError(
            "this machine has no font that is known here: install one (apt-get install fonts-dejavu-core), or give a "
            "file that ends in .svg"
        )


def _make_sample(text: str) -> str:
    fonts = quoteattr(read_tokens()["text"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><text y="14" font-size="14" '
        f"font-family={fonts}>{text}</text></svg>"
    )


def render_png(svg: str) -> bytes:
    """Return a PNG of the size of the picture."""
    check_rasterizer()
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg))
