"""`mockkube scheduler`: run only the scheduler, against the API server of a kubeconfig."""

from collections.abc import Mapping
from typing import Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.parameters import read_scheduler_configuration
from mockkube.cli.standalone_options import StandaloneOptions, leader_election_options, standalone_options
from mockkube.cluster.configuration.errors import ConfigurationError

# Fields of `leaderElection` in a KubeSchedulerConfiguration by their flag.
_ELECTION_FIELDS: Final = {
    "leader-elect": "leaderElect",
    "leader-elect-lease-duration": "leaseDuration",
    "leader-elect-renew-deadline": "renewDeadline",
    "leader-elect-retry-period": "retryPeriod",
    "leader-elect-resource-lock": "resourceLock",
    "leader-elect-resource-name": "resourceName",
    "leader-elect-resource-namespace": "resourceNamespace",
}


@click.command(short_help="Run the scheduler alone, against any API server.")
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration: profiles, plugins, their arguments.")
@standalone_options
@leader_election_options
def command(config: str | None, common: StandaloneOptions, election: Mapping[str, Any]) -> Exit:
    """Schedule the pods of a cluster until Ctrl-C.

    The server may be any: start a cluster of ours with `mockkube up --without scheduler`, or take the place of the
    scheduler of a real one. Of several schedulers one works, and the others take its place when it ends.
    """
    from mockkube.cluster.components.component_flags import make_scheduler_election, validate_flags
    from mockkube.features.components import SCHEDULER

    settings = common.make_settings(SCHEDULER)
    document = read_scheduler_configuration(config)
    flags = {} if document is None and not election else {"config": _merge_election(document, election)}
    try:
        validate_flags({SCHEDULER: flags}, settings.capabilities())
    except ConfigurationError as error:
        raise ConfigurationError(f"--config: {error}" if config else str(error)) from None
    common.run(settings, flags=flags, election=make_scheduler_election(flags))
    return Exit.OK


def _merge_election(document: dict[str, Any] | None, election: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the flags of leader election over it."""
    from mockkube.scheduler.configuration.kube_scheduler_configuration import API_VERSION, KIND

    document = {"apiVersion": API_VERSION, "kind": KIND} if document is None else document
    fields = {_ELECTION_FIELDS[flag]: value for flag, value in election.items()}
    return {**document, "leaderElection": {**(document.get("leaderElection") or {}), **fields}} if fields else document
