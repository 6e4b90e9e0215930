"""Get the explanations for `mockkube why`: from the cluster's control API, else computed here."""

import json
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mockkube.cli.control_page import read_page
from mockkube.cli.live import LiveCluster, read_kubeconfig
from mockkube.cli.questions import capabilities_of, gates_of, scheduler_configuration, version_of
from mockkube.client import kubeconfig
from mockkube.cluster.components import SINGLE, Settings
from mockkube.cluster.errors import ConfigurationError, StartError
from mockkube.features.components import API_SERVER, KUBELET, SCHEDULER
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.proposals.outside import default_trains

if TYPE_CHECKING:
    from mockkube.client.protocol import Client
    from mockkube.explain.components import Team

_COMPONENT: Final = "Component.control.mockkube.dev"
_AGENT: Final = "mockkube-why"
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Pod or workload to explain, the cluster, and the supposed scheduler settings."""

    namespace: str
    name: str
    path: Path
    context: str
    config: str | None
    version: str | None
    gates: tuple[str, ...]

    @property
    def supposing(self) -> bool:
        """True if scheduler settings are supposed that the cluster does not have."""
        return bool(self.config or self.version or self.gates)


def report_of_cluster(asked: Asked) -> dict[str, Any] | None:
    """Return the control API's explanation, None without one; raise ConfigurationError if the pod does not exist."""
    access = kubeconfig.load(asked.path, asked.context)
    try:
        try:
            # The root is read first: only it tells a cluster without control API from a pod that does not exist, both
            # 404.
            read_page(access, seconds=_SECONDS)
        except urllib.error.HTTPError:
            return None
        path = f"/namespaces/{quote(asked.namespace)}/pods/{quote(asked.name)}/why"
        report: dict[str, Any] = json.loads(read_page(access, path, seconds=_SECONDS))
        return report
    except urllib.error.HTTPError as error:
        message = _message(error)
        if error.code == 404:
            raise ConfigurationError(message) from None
        raise StartError(f"the cluster does not answer: {message}") from None
    except (OSError, urllib.error.URLError) as error:
        raise StartError(f"the cluster does not answer: {error}") from None


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError):
        return str(error)


async def report_made_here(asked: Asked) -> dict[str, Any]:
    """Return the explanation of a pod computed here, from what the cluster reveals about its components."""
    from mockkube.api.errors import NotFound
    from mockkube.client.http import HttpClient
    from mockkube.client.protocol import Key
    from mockkube.explain.owners import instead_of
    from mockkube.explain.pod_explainer import Question
    from mockkube.runtime.clock import RealClock

    clock, key = RealClock(), Key(asked.namespace, asked.name)
    async with HttpClient(kubeconfig.load(asked.path, asked.context), _AGENT, clock=clock) as client:
        question = Question(client, await _team(client, asked), clock, scheduler_configuration(asked.config))
        try:
            return (await question.account(key)).as_json()
        except NotFound as error:
            raise ConfigurationError(f"{error}{await instead_of(client, key)}") from None


async def report_of_maker(asked: Asked, kind: str) -> dict[str, Any]:
    """Return the explanation of a workload's pods, with that of the first pod that does not run.

    Raise ConfigurationError if the workload does not exist.
    """
    from mockkube.client.http import HttpClient
    from mockkube.client.protocol import Key
    from mockkube.explain.owner_explanation import making_of
    from mockkube.explain.owners import maker_of
    from mockkube.explain.pod_explainer import Question
    from mockkube.runtime.clock import RealClock

    clock = RealClock()
    async with HttpClient(kubeconfig.load(asked.path, asked.context), _AGENT, clock=clock) as client:
        maker = await maker_of(client, Key(asked.namespace, asked.name), kind.lower())
        if maker is None:
            raise ConfigurationError(
                f"there is no {kind}/{asked.name} that makes pods: name a pod, its namespace with -n"
            )
        team = await _team(client, asked)
        making = await making_of(client, team, maker, clock.now())
        if not making.stopped:
            return {**making.as_json(), "stoppedPod": None}
        question = Question(client, team, clock, scheduler_configuration(asked.config))
        account = await question.account(Key(asked.namespace, making.stopped[0]))
        return {**making.as_json(), "stoppedPod": account.as_json()}


async def _team(client: "Client", asked: Asked) -> "Team":
    from mockkube.api.errors import ApiError

    try:
        components = (await client.list(_COMPONENT)).items
    except ApiError:
        return await _guessed(client, asked)
    return _of_components({one["metadata"]["name"]: one for one in components}, asked)


def _of_components(components: Mapping[str, Any], asked: Asked) -> "Team":
    """Return the components as the control API describes them, the scheduler with the supposed settings."""
    from mockkube.cluster.control.component import Asked as Wish
    from mockkube.cluster.explained_components import team_of

    wishes = {name: Wish.read(one, default_trains()) for name, one in components.items()}
    wishes[SCHEDULER] = replace(wishes[SCHEDULER], settings=_scheduler(asked, wishes[SCHEDULER].settings))
    status = {name: one.get("status") or {} for name, one in components.items()}
    return team_of(wishes, {name: "" if one.get("running") else "it is stopped" for name, one in status.items()})


def _scheduler(asked: Asked, usual: Settings) -> Settings:
    version = version_of(asked.version) if asked.version else usual.version
    gates = gates_of(asked.gates, "--feature-gates") if asked.gates else usual.feature_gates
    capabilities_of(version, gates, component=SCHEDULER, flag="--feature-gates")
    return Settings(SCHEDULER, version, gates, default_trains())


async def _guessed(client: "Client", asked: Asked) -> "Team":
    """Return the components of a cluster without a control API, guessed from the versions of server and nodes."""
    from mockkube.cluster.explained_components import standing_of
    from mockkube.explain.components import Member, Team

    live = LiveCluster(read_kubeconfig([asked.path], asked.context or None))
    version = _supported(live.version())
    settings = {name: Settings(name, version, {}, default_trains()) for name in SINGLE}
    settings[API_SERVER] = Settings(API_SERVER, version, live.gates(), default_trains())
    settings[SCHEDULER] = _scheduler(asked, settings[SCHEDULER])
    for node in (await client.list("Node")).items:
        info = (node.get("status") or {}).get("nodeInfo") or {}
        name = f"{KUBELET}.{node['metadata']['name']}"
        settings[name] = Settings(name, _supported(info.get("kubeletVersion", str(version))), {}, default_trains())
    server = settings[API_SERVER].capabilities()
    return Team({name: Member(standing_of(own), server) for name, own in settings.items()}, guessed=True)


def _supported(text: str) -> Version:
    """Return the version in a text: at most the newest known one, the default one if it cannot be parsed."""
    try:
        return min(Version.parse(text.partition("-")[0].partition("+")[0]), NEWEST)
    except ValueError:
        return DEFAULT
