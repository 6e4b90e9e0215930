"""`mockkube ui`: open the page of a running cluster."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import name_option
from mockkube.cluster.configuration.errors import ConfigurationError

if TYPE_CHECKING:
    from mockkube.client.kubeconfig import RestConfig


@click.command(short_help="Open the page of a running cluster.")
@name_option
@click.option("--kubeconfig", metavar="FILE", help="How to reach the cluster, and as whom. [that of the cluster]")
@click.option("--context", "context", metavar="NAME", default="", help="The context to use. [the current one]")
@click.option(
    "--exploration",
    metavar="FILE",
    type=click.Path(),
    help="Show this result of 'mockkube explore -o json', or 'mockkube atlas -o json'.",
)
@click.option("--print", "only_prints", is_flag=True, help="Print the link only, and open no browser.")
def command(
    name: str | None, kubeconfig: str | None, context: str, exploration: str | None, *, only_prints: bool
) -> Exit:
    """Open the page of a running cluster in the browser, and print its link.

    The link logs in the user of the kubeconfig. It works once, within ten minutes.
    """
    from mockkube.cli.page_link import issue_link, upload_exploration

    content = None if exploration is None else _read_exploration(Path(exploration).expanduser())
    config = _load_config(kubeconfig, name, context)
    link = issue_link(config)
    if content is not None:
        upload_exploration(link, content, config.tls() if link.startswith("https:") else None)
        link = issue_link(config)  # the first one has been used
    click.echo(link)
    if not only_prints:
        open_browser(link)
    return Exit.OK


def _load_config(given: str | None, name: str | None, context: str) -> "RestConfig":
    from mockkube.cli.live_cluster import kubeconfig_paths, require_listener
    from mockkube.client import kubeconfig

    paths = kubeconfig_paths(given, name, os.environ)
    try:
        config = kubeconfig.load_merged(paths, context)
        require_listener(config.server, context or kubeconfig.find_current_context(paths))
    except kubeconfig.KubeconfigError as error:
        raise ConfigurationError(f"--kubeconfig: {error}") from None
    return config


def _read_exploration(path: Path) -> bytes:
    """Return the content of a result of `mockkube explore -o json` or `mockkube atlas -o json`."""
    try:
        content = path.read_bytes()
        document = json.loads(content)
    except OSError as error:
        raise ConfigurationError(f"--exploration: {path}: {error.strerror}") from None
    except ValueError:
        document = None
    if not (_is_exploration(document) or _is_atlas(document)):
        raise ConfigurationError(
            f"--exploration: {path} is no exploration: write one with 'mockkube explore -o json', or an atlas of gates "
            "with 'mockkube atlas -o json'"
        )
    return content


def _is_exploration(document: Any) -> bool:
    return isinstance(document, dict) and {"orders", "pairs", "counterexamples"} <= document.keys()


def _is_atlas(document: Any) -> bool:
    gates = document.get("gates") if isinstance(document, dict) else document
    return isinstance(gates, list) and all(isinstance(one, dict) and "gate" in one for one in gates)


def open_browser(link: str) -> None:
    """Open a link in the browser of the desktop, if there is one."""
    import webbrowser

    # On a machine without a screen there is no browser, or one in the terminal, which would show nothing.
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        webbrowser.open(link)
