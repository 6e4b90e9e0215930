"""`mockkube kubeconfig`: print or merge the kubeconfig of a cluster."""

import asyncio

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import find_state_directory, name_option
from mockkube.cluster.configuration.values import parse_path
from mockkube.cluster.state.state_directory import StateDirectory


@click.command(short_help="Print a cluster's kubeconfig, or merge it into a file.")
@name_option
@click.option("--path", "only_path", is_flag=True, help="Print where the file is instead of what it holds.")
@click.option("--merge", metavar="PATH", help="Merge it into this kubeconfig instead of printing it.")
@click.option("--set-context", is_flag=True, help="With --merge: make it the current context.")
def command(name: str | None, merge: str | None, *, only_path: bool, set_context: bool) -> Exit:
    """Print a cluster's kubeconfig, or merge it into a file."""
    if set_context and merge is None:
        raise click.UsageError("--set-context: no file to set it in: give one with --merge PATH as well")
    directory = find_state_directory(name)
    if not directory.kubeconfig.exists():
        click.echo(f"mockkube: no cluster {directory.name!r} was ever started: start it with 'mockkube up'", err=True)
        return Exit.FAILED
    if merge is not None:
        _merge(directory, merge, set_context=set_context)
    elif only_path:
        click.echo(str(directory.kubeconfig))
    else:
        click.echo(directory.kubeconfig.read_text(), nl=False)
    return Exit.OK


def _merge(directory: StateDirectory, path: str, *, set_context: bool) -> None:
    from mockkube.cluster.state.kubeconfig_contexts import KubeconfigContexts
    from mockkube.runtime.clock import RealClock

    target = parse_path(path)
    asyncio.run(KubeconfigContexts(directory, RealClock()).add(target, set_context=set_context))
    click.echo(f"Merged into {target}")
