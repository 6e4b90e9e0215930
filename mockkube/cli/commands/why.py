"""`mockkube why`: explain why a pod is pending, rejected or gone, and which single change would help."""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.live_cluster import kubeconfig_paths, require_listener
from mockkube.cli.options import output_option
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

_POD_NAMES: Final = ("", "pod", "pods", "po")


@click.command(short_help="Explain why a pod is pending, rejected or gone.")
@click.argument("pod", metavar="[pod/]NAME")
@click.option("-n", "--namespace", metavar="NAME", default="default", show_default=True, help="The pod's namespace.")
@click.option("--name", "cluster", metavar="NAME", help="The cluster of mockkube, by its name.")
@click.option("--kubeconfig", metavar="FILE", help="How to reach the cluster. [as kubectl finds it]")
@click.option("--context", "context", metavar="NAME", default="", help="The context to use. [the current one]")
@click.option(
    "--config", metavar="FILE", help="Answer for this KubeSchedulerConfiguration instead. [the cluster's own]"
)
@click.option("--version", metavar="VERSION", help="Answer for a scheduler of this version. [the cluster's own]")
@click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="GATES",
    help="Answer for a scheduler with these gates. [its own]",
)
@output_option("table", "json", "yaml")
def command(pod: str, output: str, **options: Any) -> Exit:
    """Explain why a pod is pending, rejected or gone, and what would help.

    The decisions of scheduler, kubelet and controller manager are made again. For a pod that is stopped, single changes
    are tried: gates and versions of one component, tolerations, taints, free resources, constraints left out. The exit
    code is 1 for a pod that is stopped, 2 for one that does not exist. For a workload, like deployment/NAME, the first
    pod that does not run is explained; also whether the API server would store its pods and, for a daemonset, which
    nodes it skips.
    """
    kind, _, name = pod.rpartition("/")
    report = _build_report(kind if kind.lower() not in _POD_NAMES else "", name, options)
    _print(report, output)
    return _exit_code(report)


def _exit_code(report: Mapping[str, Any]) -> Exit:
    if "maker" in report:
        return Exit.FAILED if report["refusals"] or report["stopped"] or not report["pods"] else Exit.OK
    if report["gone"]:
        return Exit.USAGE
    from mockkube.explain.pod_fate import ENDED_BY_COMPONENT

    return Exit.FAILED if report["obstacle"] or report["fate"] in ENDED_BY_COMPONENT else Exit.OK


def _build_report(kind: str, name: str, given: dict[str, Any]) -> Mapping[str, Any]:
    """Return the explanation of a pod, or of a workload that creates pods."""
    from mockkube.api.errors import ApiError
    from mockkube.cli.explanations import ExplainQuery, compute_owner_report, compute_report, read_report
    from mockkube.client import kubeconfig
    from mockkube.scheduler.configuration.kube_scheduler_configuration import SchedulerConfigurationError

    paths = tuple(kubeconfig_paths(given.pop("kubeconfig"), given.pop("cluster"), os.environ))
    query = ExplainQuery(name=name, kubeconfigs=paths, **given)
    try:
        require_listener(query.load_config().server, query.context or kubeconfig.find_current_context(paths))
        if kind:
            return asyncio.run(compute_owner_report(query, kind))
        # Only without suppositions the cluster's own answer counts: its control API knows how the components run.
        report = None if query.has_suppositions else read_report(query)
        return asyncio.run(compute_report(query)) if report is None else report
    except kubeconfig.KubeconfigError as error:
        raise ConfigurationError(f"--kubeconfig: {error}") from None
    except SchedulerConfigurationError as error:
        raise ConfigurationError(f"--config: {error}") from None
    except ApiError as error:
        raise StartError(f"the cluster does not answer: {error}") from None


def _print(report: Mapping[str, Any], output: str) -> None:
    match output:
        case "json":
            click.echo(json.dumps(report, indent=2, default=str))
        case "yaml":
            import yaml

            plain = json.loads(json.dumps(report, default=str))
            click.echo(yaml.safe_dump(plain, sort_keys=False, width=1000), nl=False)
        case _:
            from mockkube.explain.rendering import render_explanation, render_owner_explanation

            click.echo("\n".join((render_owner_explanation if "maker" in report else render_explanation)(report)))
