"""`mockkube controllers`: run only the controller manager, against the API server of a kubeconfig."""

from collections.abc import Mapping
from typing import Any

import click

from mockkube.cli.exits import Exit
from mockkube.cli.standalone_options import StandaloneOptions, leader_election_options, standalone_options


@click.command(short_help="Run the controllers alone, against any API server.")
@click.option("--controllers", multiple=True, metavar="NAMES", help="Which controllers run, like '*,-daemonset'. ['*']")
@click.option(
    "--controller-manager", "more_flags", multiple=True, metavar="FLAGS",
    help="Other flags of the controller manager, like node-monitor-grace-period=20s. May be repeated.",
)  # fmt: skip
@standalone_options
@leader_election_options
def command(
    controllers: tuple[str, ...],
    more_flags: tuple[str, ...],
    common: StandaloneOptions,
    election: Mapping[str, Any],
) -> Exit:
    """Run the controllers of a cluster until Ctrl-C.

    The server may be any: start a cluster of ours with `mockkube up --without controllers`, or take the place of the
    controller manager of a real one. Of several controller managers one works, and the others take its place when it
    ends.
    """
    from mockkube.cluster.components.component_flags import make_controller_manager_election, validate_flags
    from mockkube.features.components import CONTROLLER_MANAGER

    settings = common.make_settings(CONTROLLER_MANAGER)
    flags = {**_parse_flags(controllers, more_flags), **election}
    validate_flags({CONTROLLER_MANAGER: flags})
    common.run(settings, flags=flags, election=make_controller_manager_election(flags))
    return Exit.OK


def _parse_flags(controllers: tuple[str, ...], more_flags: tuple[str, ...]) -> dict[str, Any]:
    from mockkube.cluster.configuration.errors import ConfigurationError
    from mockkube.cluster.configuration.values import parse_controller_flags, parse_controllers

    try:
        flags: dict[str, Any] = dict(parse_controller_flags(more_flags))
    except ValueError as error:
        raise ConfigurationError(f"--controller-manager: {error}") from None
    if controllers:
        try:
            flags["controllers"] = parse_controllers(controllers)
        except ValueError as error:
            raise ConfigurationError(f"--controllers: {error}") from None
    return flags
