"""`mockkube demo`: an example that runs by itself, in virtual time."""

import asyncio
import os
import sys
import textwrap
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.exits import Exit

if TYPE_CHECKING:
    from mockkube.cli.demo.demo_cluster import DemoCluster
    from mockkube.cli.demo.guide import GuideStep
    from mockkube.cluster.cluster import Cluster
    from mockkube.explore.exploration import Exploration

_WIDTH: Final = 100
_PROCESSES_MAX: Final = 4
_NEXT: Final = (
    "A cluster of your own:        mockkube up --nodes 3",
    "Every order of your rollout:  mockkube explore conformance/plans/kep-5471.yaml",
    "An upgrade of your cluster:   mockkube rehearse --context CONTEXT --to 1.37",
    "What this machine lacks:      mockkube doctor",
)


@click.command(short_help="Run an example: a gate that is on for some components only.")
@click.option("--ui", is_flag=True, help="Run it on a cluster with a page, and open that in the browser.")
@click.option("--pause", is_flag=True, help="Wait for the Enter key after each step.")
def command(*, ui: bool, pause: bool) -> Exit:
    """Run an example in virtual time: a feature gate that is on in some components only.

    Shows the commands that do the same on a cluster of your own. Needs no kubectl, and leaves nothing behind. With
    --ui, the cluster stays until Ctrl-C, so that its page shows what happened.
    """
    try:
        asyncio.run(_play_with_page(pause=pause) if ui else _play(pause=pause))
    except KeyboardInterrupt:
        return Exit.OK
    return Exit.OK


async def _play(*, pause: bool) -> None:
    from mockkube.cli.demo.demo_cluster import SimulatedDemoCluster
    from mockkube.cli.demo.example import NODES, VERSION
    from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
    from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
    from mockkube.features.versions import Version

    configuration = ClusterConfiguration(nodes=NODES, version=Version.parse(VERSION))
    async with SimulatedCluster(SimulatedClusterConfig(configuration)) as cluster:
        await _print_steps(SimulatedDemoCluster(cluster), pause=pause)
    click.echo("\n".join(("", "Next:", *(f"  {line}" for line in _NEXT))))


async def _play_with_page(*, pause: bool) -> None:
    from mockkube.cli.commands.ui import open_browser
    from mockkube.cli.demo.demo_cluster import ServedDemoCluster
    from mockkube.cli.demo.example import NODES, VERSION
    from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster

    settings: dict[str, Any] = {"name": "demo", "nodes": NODES, "version": VERSION, "clock": "virtual", "ui": True}
    # As in a simulated cluster: without limits, ten virtual seconds of evictions take long.
    settings["controller_manager"] = {"kube-api-qps": "20", "kube-api-burst": "30"}
    async with open_temporary_cluster(make_temporary_configuration(settings)) as cluster, cluster as running:
        click.echo(f"The page of this cluster, a link that works once: {running.ui_link}")
        open_browser(running.ui_link)
        await _print_steps(ServedDemoCluster(cluster.control_plane), pause=pause, show=partial(_upload, cluster))
        click.echo("\nThe page shows the same: drag its time line back. Ctrl-C ends the cluster.")
        await asyncio.Event().wait()


async def _upload(cluster: "Cluster", exploration: "Exploration") -> None:
    """Let the page show the result of the exploration."""
    from mockkube.cli.demo.guide import encode_exploration
    from mockkube.cli.page_link import upload_exploration

    # In threads: counterexamples are played in event loops of their own, and the upload waits for this one.
    content = await asyncio.to_thread(encode_exploration, exploration)
    link = await cluster.control_plane.user_interface.make_administrator_link()
    await asyncio.to_thread(upload_exploration, link, content, None)


async def _print_steps(
    cluster: "DemoCluster", *, pause: bool, show: "Callable[[Exploration], Awaitable[None]] | None" = None
) -> None:
    from mockkube.cli.demo.guide import explore_orders, play

    number = 0
    async for step in play(cluster, partial(explore_orders, min(os.cpu_count() or 1, _PROCESSES_MAX))):
        number += 1
        _print_step(number, step)
        if show is not None and step.exploration is not None:
            await show(step.exploration)
        if pause:
            await asyncio.to_thread(_wait_for_enter)


def _print_step(number: int, step: "GuideStep") -> None:
    if number > 1:
        click.echo()
    title = textwrap.wrap(f"{number}. {step.title}", _WIDTH, subsequent_indent="   ")
    click.secho("\n".join(title), bold=True)
    if step.command:
        click.secho(f"   $ {step.command}", fg="cyan")
    for line in step.lines:
        click.echo(f"   {line}".rstrip())


def _wait_for_enter() -> None:
    click.echo("   (Enter)", nl=False, err=True)
    sys.stdin.readline()
