"""`mockkube down`: stop a running cluster."""

import asyncio
from typing import Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import find_state_directory, name_option
from mockkube.cluster.state.state_directory import StateDirectory

WAIT_SECONDS: Final = 10.0


@click.command(short_help="Stop a running cluster.")
@name_option
@click.option("--delete", is_flag=True, help="Also delete what it keeps: its database, keys and token.")
def command(name: str | None, *, delete: bool) -> Exit:
    """Stop a running cluster and take its context out of the kubeconfig it was merged into.

    What it stores stays for the next 'mockkube up' of the same name, unless --delete is given.
    """
    from mockkube.cluster.shutdown import stop_cluster
    from mockkube.runtime.clock import RealClock

    directory = find_state_directory(name)
    try:
        stopped = asyncio.run(stop_cluster(directory, clock=RealClock(), wait_seconds=WAIT_SECONDS))
    except TimeoutError:
        click.echo(f"Cluster {directory.name!r} has not ended after {WAIT_SECONDS:.0f} seconds", err=True)
        return Exit.TIMED_OUT
    click.echo(f"Cluster {directory.name!r} {'is stopped' if stopped else 'was not running'}")
    if delete:
        _delete(directory)
    return Exit.OK


def _delete(directory: StateDirectory) -> None:
    import shutil

    from mockkube.cluster.state.state_directory import StateLock

    if directory.path.exists():
        # The lock keeps another `mockkube up` from starting the cluster meanwhile.
        with StateLock(directory):
            shutil.rmtree(directory.path)
        click.echo(f"Deleted {directory.path}")
