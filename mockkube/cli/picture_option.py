"""Option `--picture` of commands that write reports."""

from pathlib import Path
from typing import Any

import click

from mockkube.cli.options import Decorator
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

_PNG = ".png"


def _check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Reject a file that cannot be written before hours of work are lost for it."""
    if value is None:
        return None
    suffix = Path(value).suffix.lower()
    if suffix not in (".svg", _PNG):
        raise ConfigurationError(f"--picture: {value}: give a file that ends in .svg or .png")
    if not Path(value).parent.is_dir():
        raise ConfigurationError(f"--picture: {value}: there is no directory {Path(value).parent}: create it")
    if suffix == _PNG:
        _check_rasterizer()
    return value


def _check_rasterizer() -> None:
    from mockkube.report.pictures.rasterizer import RasterizerError, check_rasterizer

    try:
        check_rasterizer()
    except RasterizerError as error:
        raise ConfigurationError(f"--picture: {error}") from None


picture_option: Decorator = click.option(
    "--picture", metavar="FILE", type=click.Path(), callback=_check,
    help="Write the answer as a picture of 1200 x 630, for an issue: .svg, or .png with the extra `picture`.",
)  # fmt: skip


def write_picture(options: dict[str, Any], svg: str) -> None:
    """Write a picture as SVG or PNG, by the end of its file name."""
    path = Path(options["picture"])
    if path.suffix.lower() == _PNG:
        from mockkube.report.pictures.rasterizer import render_png

        content = render_png(svg)
    else:
        content = svg.encode()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StartError(f"--picture: {path}: {error.strerror}: give a file that can be written") from None
