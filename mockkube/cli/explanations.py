"""Get the explanations for `mockkube why`: from the cluster's control API, else computed here."""

import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mockkube.cli.live_cluster import LiveCluster
from mockkube.cli.parameters import (
    build_capabilities,
    parse_gate_flags,
    parse_version_flag,
    read_scheduler_configuration,
)
from mockkube.client import kubeconfig
from mockkube.client.blocking_http import HttpResponse
from mockkube.cluster.configuration.component_settings import REQUIRED_COMPONENTS, ComponentSettings
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.features.components import API_SERVER, KUBELET, SCHEDULER
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.loading import default_trains

if TYPE_CHECKING:
    from mockkube.client.protocol import Client
    from mockkube.explain.components import ClusterComponents

_COMPONENT: Final = "Component.control.mockkube.dev"
_AGENT: Final = "mockkube-why"
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """Pod or workload to explain, the cluster, and the supposed scheduler settings."""

    namespace: str
    name: str
    kubeconfigs: tuple[Path, ...]
    context: str
    config: str | None
    version: str | None
    gates: tuple[str, ...]

    def load_config(self) -> kubeconfig.RestConfig:
        """Return server and credentials; raise KubeconfigError."""
        return kubeconfig.load_merged(self.kubeconfigs, self.context)

    @property
    def has_suppositions(self) -> bool:
        """True if scheduler settings are supposed that the cluster does not have."""
        return bool(self.config or self.version or self.gates)


def read_report(query: ExplainQuery) -> dict[str, Any] | None:
    """Return the control API's explanation, None without one; raise ConfigurationError if the pod does not exist."""
    cluster = LiveCluster(query.load_config())
    # The root is read first: only it tells a cluster without control API from a pod that does not exist, both 404.
    if cluster.read_control_api(seconds=_SECONDS).status != HTTPStatus.OK:
        return None
    path = f"/namespaces/{quote(query.namespace)}/pods/{quote(query.name)}/why"
    response = cluster.read_control_api(path, seconds=_SECONDS)
    if response.status == HTTPStatus.OK:
        report: dict[str, Any] = json.loads(response.body)
        return report
    message = _error_message(response)
    if response.status == HTTPStatus.NOT_FOUND:
        raise ConfigurationError(message)
    raise StartError(f"the cluster does not answer: {message}")


def _error_message(response: HttpResponse) -> str:
    try:
        return str(json.loads(response.body)["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {response.status}"


async def compute_report(query: ExplainQuery) -> dict[str, Any]:
    """Return the explanation of a pod computed here, from what the cluster reveals about its components."""
    from mockkube.api.errors import NotFound
    from mockkube.client.http import HttpClient
    from mockkube.client.protocol import Key
    from mockkube.explain.owners import suggest_pods
    from mockkube.explain.pod_explainer import PodExplainer
    from mockkube.runtime.clock import RealClock

    clock, key = RealClock(), Key(query.namespace, query.name)
    async with HttpClient(query.load_config(), _AGENT, clock=clock) as client:
        explainer = PodExplainer(
            client, await _read_components(client, query), clock, read_scheduler_configuration(query.config)
        )
        try:
            return (await explainer.explain(key)).as_json()
        except NotFound as error:
            raise ConfigurationError(f"{error}{await suggest_pods(client, key)}") from None


async def compute_owner_report(query: ExplainQuery, kind: str) -> dict[str, Any]:
    """Return the explanation of a workload's pods, with that of the first pod that does not run.

    Raise ConfigurationError if the workload does not exist.
    """
    from mockkube.client.http import HttpClient
    from mockkube.client.protocol import Key
    from mockkube.explain.owner_explanation import explain_owner
    from mockkube.explain.owners import find_workload
    from mockkube.explain.pod_explainer import PodExplainer
    from mockkube.runtime.clock import RealClock

    clock = RealClock()
    async with HttpClient(query.load_config(), _AGENT, clock=clock) as client:
        workload = await find_workload(client, Key(query.namespace, query.name), kind.lower())
        if workload is None:
            raise ConfigurationError(
                f"there is no {kind}/{query.name} that creates pods: name a pod, its namespace with -n"
            )
        components = await _read_components(client, query)
        owner_explanation = await explain_owner(client, components, workload, clock.now())
        if not owner_explanation.stopped:
            return {**owner_explanation.as_json(), "stoppedPod": None}
        explainer = PodExplainer(client, components, clock, read_scheduler_configuration(query.config))
        explanation = await explainer.explain(Key(query.namespace, owner_explanation.stopped[0]))
        return {**owner_explanation.as_json(), "stoppedPod": explanation.as_json()}


async def _read_components(client: "Client", query: ExplainQuery) -> "ClusterComponents":
    from mockkube.api.errors import ApiError

    try:
        components = (await client.list(_COMPONENT)).items
    except ApiError:
        return await _guess_components(client, query)
    return _from_control_api({one["metadata"]["name"]: one for one in components}, query)


def _from_control_api(components: Mapping[str, Any], query: ExplainQuery) -> "ClusterComponents":
    """Return the components as the control API describes them, the scheduler with the supposed settings."""
    from mockkube.cluster.components.explained_components import make_cluster_components
    from mockkube.cluster.control.component import ComponentSpec

    specs = {name: ComponentSpec.from_object(one, default_trains()) for name, one in components.items()}
    specs[SCHEDULER] = replace(specs[SCHEDULER], settings=_scheduler_settings(query, specs[SCHEDULER].settings))
    status = {name: one.get("status") or {} for name, one in components.items()}
    return make_cluster_components(
        specs, {name: "" if one.get("running") else "it is stopped" for name, one in status.items()}
    )


def _scheduler_settings(query: ExplainQuery, usual: ComponentSettings) -> ComponentSettings:
    version = parse_version_flag(query.version) if query.version else usual.version
    gates = parse_gate_flags(query.gates, "--feature-gates") if query.gates else usual.feature_gates
    build_capabilities(version, gates, component=SCHEDULER, flag="--feature-gates")
    return ComponentSettings(SCHEDULER, version, gates, default_trains())


async def _guess_components(client: "Client", query: ExplainQuery) -> "ClusterComponents":
    """Return the components of a cluster without a control API, guessed from the versions of server and nodes."""
    from mockkube.cluster.components.explained_components import make_component_features
    from mockkube.explain.components import ClusterComponents, DecidingComponent

    live = LiveCluster(query.load_config())
    version = _parse_supported_version(live.read_version())
    settings = {name: ComponentSettings(name, version, {}, default_trains()) for name in REQUIRED_COMPONENTS}
    settings[API_SERVER] = ComponentSettings(API_SERVER, version, live.read_gates(), default_trains())
    settings[SCHEDULER] = _scheduler_settings(query, settings[SCHEDULER])
    for node in (await client.list("Node")).items:
        info = (node.get("status") or {}).get("nodeInfo") or {}
        name = f"{KUBELET}.{node['metadata']['name']}"
        settings[name] = ComponentSettings(
            name, _parse_supported_version(info.get("kubeletVersion", str(version))), {}, default_trains()
        )
    server = settings[API_SERVER].capabilities()
    return ClusterComponents(
        {name: DecidingComponent(make_component_features(own), server) for name, own in settings.items()},
        has_default_gates=True,
    )


def _parse_supported_version(text: str) -> Version:
    """Return the version in a text: at most the newest known one, the default one if it cannot be parsed."""
    try:
        return min(Version.parse(text.partition("-")[0].partition("+")[0]), NEWEST)
    except ValueError:
        return DEFAULT
