"""`mockkube why`: why a pod is where it is, or nowhere, and which single change would alter it."""

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.live import default_paths
from mockkube.cli.options import output_option
from mockkube.cli.questions import capabilities_of, gates_of, scheduler_configuration, version_of
from mockkube.cluster.errors import ConfigurationError, StartError
from mockkube.features.versions import DEFAULT

if TYPE_CHECKING:
    from mockkube.client.http import HttpClient
    from mockkube.scheduler.why import Explanation

_COMPONENT: Final = "Component.control.mockkube.dev"
_SCHEDULER: Final = "kube-scheduler"


@click.command(short_help="Say why a pod is where it is, or nowhere.")
@click.argument("pod", metavar="pod/NAME")
@click.option("-n", "--namespace", metavar="NAME", default="default", show_default=True, help="The pod's namespace.")
@click.option("--kubeconfig", metavar="FILE", help="How to reach the cluster. [as kubectl finds it]")
@click.option("--context", "context", metavar="NAME", default="", help="The context to use. [the current one]")
@click.option("--config", metavar="FILE", help="The scheduler's KubeSchedulerConfiguration, if it has one.")
@click.option("--version", metavar="VERSION", help="The scheduler's version. [as the cluster says, or 1.36]")
@click.option("--feature-gates", "gates", multiple=True, metavar="GATES", help="Its gates. [as the cluster says]")
@output_option("table", "json", "yaml")
def command(pod: str, output: str, **asked: Any) -> Exit:
    """Say why a pod is where it is, or nowhere.

    The decision is made again, node by node. For a pod that fits nowhere, single changes are tried: gates and versions
    of the scheduler, tolerations, taints, cordons, room. The exit code is 1 when the pod fits nowhere.
    """
    name = pod.removeprefix("pod/").removeprefix("pods/")
    explanation = asyncio.run(_explain(name, asked))
    _print(explanation, output)
    return Exit.OK if explanation.node else Exit.FAILED


async def _explain(name: str, asked: dict[str, Any]) -> "Explanation":
    from mockkube.api.errors import ApiError, NotFound
    from mockkube.client import kubeconfig
    from mockkube.client.http import HttpClient
    from mockkube.client.protocol import Key
    from mockkube.runtime.clock import RealClock
    from mockkube.scheduler.configuration import ConfigurationError as Unusable
    from mockkube.scheduler.what_if import what_if
    from mockkube.scheduler.why import case_of, explain

    path = Path(asked["kubeconfig"]) if asked["kubeconfig"] else default_paths(os.environ)[0]
    clock = RealClock()
    try:
        async with HttpClient(kubeconfig.read(path, asked["context"]), "mockkube-why", clock=clock) as client:
            version, gates = await _standing(client, asked)
            caps = capabilities_of(version_of(version), gates, component=_SCHEDULER, flag="--feature-gates")
            given = scheduler_configuration(asked["config"])
            case = await case_of(client, Key(asked["namespace"], name), caps, clock, given)
            return await what_if(case, await explain(case), gates)
    except kubeconfig.KubeconfigError as error:
        raise ConfigurationError(f"--kubeconfig: {error}") from None
    except Unusable as error:
        raise ConfigurationError(f"--config: {error}") from None
    except NotFound as error:
        raise ConfigurationError(f"{error}: name a pod, and its namespace with -n") from None
    except ApiError as error:
        raise StartError(f"the cluster does not answer: {error}") from None


async def _standing(client: "HttpClient", asked: dict[str, Any]) -> tuple[str, dict[str, bool]]:
    """Return version and gates of the scheduler: as given, else as a cluster of ours says, else the usual ones."""
    from mockkube.api.errors import ApiError
    from mockkube.client.protocol import Key

    gates = gates_of(asked["gates"], "--feature-gates")
    try:
        spec = (await client.get(_COMPONENT, Key("", _SCHEDULER)))["spec"]
    except ApiError:
        spec = {}
    version = asked["version"] or spec.get("version") or str(DEFAULT)
    return version, gates or dict(spec.get("featureGates") or {})


def _print(explanation: "Explanation", output: str) -> None:
    if output == "table":
        from mockkube.scheduler.why_text import lines

        click.echo("\n".join(lines(explanation)))
        return
    report = explanation.as_json()
    if output == "json":
        click.echo(json.dumps(report, indent=2, default=str))
        return
    import yaml

    click.echo(yaml.safe_dump(json.loads(json.dumps(report, default=str)), sort_keys=False, width=1000), nl=False)
