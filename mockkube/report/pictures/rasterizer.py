"""PNG of a picture, drawn by resvg, which the extra `picture` installs."""

from typing import Final

# Without any font, text is left out silently.
_TEXT: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><text y="8" font-size="8">M</text></svg>'
_EMPTY: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"></svg>'


class RasterizerError(Exception):
    """This machine cannot draw a PNG; the message names the remedy."""


def check_rasterizer() -> None:
    """Raise RasterizerError unless resvg and a font are installed."""
    try:
        import resvg_py
    except ImportError:
        raise RasterizerError(
            "a PNG needs the extra `picture`: pip install 'mockkube[picture]', or give a file that ends in .svg"
        ) from None
    if resvg_py.svg_to_bytes(svg_string=_TEXT) == resvg_py.svg_to_bytes(svg_string=_EMPTY):
        raise RasterizerError(
            "this machine has no fonts: install some (apt-get install fonts-dejavu-core), or give a file that ends in "
            ".svg"
        )


def render_png(svg: str) -> bytes:
    """Return a PNG of the size of the picture."""
    check_rasterizer()
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg))
