"""Output of a result in the format that `--output` names."""

import json
from collections.abc import Callable
from typing import TypeVar

import click

Result = TypeVar("Result")


def print_result(
    result: Result,
    output: str,
    *,
    to_json: Callable[[Result], object],
    render_markdown: Callable[[Result], str],
    render_table: Callable[[Result], str],
) -> None:
    """Print a result as a table, as JSON or as Markdown."""
    match output:
        case "json":
            click.echo(json.dumps(to_json(result), indent=2))
        case "md":
            click.echo(render_markdown(result), nl=False)
        case _:
            click.echo(render_table(result))
