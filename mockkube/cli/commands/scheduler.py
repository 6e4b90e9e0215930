"""`mockkube scheduler`: run only the scheduler, against the API server of a kubeconfig."""

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.parameters import (
    build_capabilities,
    parse_gate_flags,
    parse_version_flag,
    read_scheduler_configuration,
)
from mockkube.client.kubeconfig import KubeconfigError
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_LEVELS: Final = ("error", "warning", "info", "debug")


@click.command(short_help="Run the scheduler alone, against any API server.")
@click.option(
    "--kubeconfig", metavar="FILE", required=True, type=click.Path(path_type=Path), help="How to reach the API server."
)
@click.option("--context", "name", metavar="NAME", default="", help="The context to use. [the current one]")
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration: profiles, plugins, their arguments.")
@click.option("--version", metavar="VERSION", default=str(DEFAULT), show_default=True, help="Version to behave as.")
@click.option("--feature-gates", "gates", multiple=True, metavar="GATES", help="A=true,B=false. May be repeated.")
@click.option("--log-level", type=click.Choice(_LEVELS), default="warning", show_default=True, help="What is logged.")
def command(
    kubeconfig: Path, name: str, config: str | None, version: str, gates: tuple[str, ...], log_level: str
) -> Exit:
    """Schedule the pods of a cluster until Ctrl-C.

    The server may be any: start a cluster of ours with `mockkube up --without scheduler`, or take the place of the
    scheduler of a real one. There is no leader election: stop the other one first.
    """
    logging.basicConfig(level=log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    caps = _capabilities(version, gates)
    given = read_scheduler_configuration(config)
    try:
        asyncio.run(_schedule(kubeconfig, name, caps, given))
    except KubeconfigError as error:
        raise ConfigurationError(f"--kubeconfig: {error}") from None
    return Exit.OK


async def _schedule(kubeconfig: Path, name: str, caps: Capabilities, given: dict[str, Any] | None) -> None:
    from mockkube.client import kubeconfig as kubeconfigs
    from mockkube.scheduler import standalone
    from mockkube.scheduler.configuration import kube_scheduler_configuration

    access = kubeconfigs.load(kubeconfig, name)
    stop = asyncio.Event()
    for number in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await standalone.serve(access, caps, given, stop=stop)
    except kube_scheduler_configuration.SchedulerConfigurationError as error:
        raise ConfigurationError(f"--config: {error}") from None


def _capabilities(version: str, gates: Sequence[str]) -> Capabilities:
    known = parse_gate_flags(gates, "--feature-gates")
    return build_capabilities(parse_version_flag(version), known, component="kube-scheduler", flag="--feature-gates")
