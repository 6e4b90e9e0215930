"""Options shared by several commands."""

import os
from collections.abc import Callable
from typing import Any

import click

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import parse_name
from mockkube.cluster.state.state_directory import StateDirectory

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

name_option: Decorator = click.option("--name", metavar="NAME", help="The cluster's name. [default, or MOCKKUBE_NAME]")


def output_option(*formats: str) -> Decorator:
    """Return the option `-o` for these formats, the first of them as the default."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=formats[0], show_default=True, help="How to print it."
    )


def start_hint(cluster: str) -> str:
    """Return the remedy for a mockkube cluster that does not run."""
    return f"start it with 'mockkube up{'' if cluster == 'default' else f' --name {cluster}'}'"


def find_state_directory(name: str | None) -> StateDirectory:
    """Return the state directory of the cluster named by --name or MOCKKUBE_NAME."""
    given = os.environ.get("MOCKKUBE_NAME") or "default" if name is None else name
    try:
        return StateDirectory.for_cluster(parse_name(given), os.environ)
    except ValueError as error:
        raise ConfigurationError(f"{'MOCKKUBE_NAME' if name is None else '--name'}: {error}") from None
