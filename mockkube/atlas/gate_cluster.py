"""Cluster on which a gate's workload is played, in virtual time."""

from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.registry import encoding
from mockkube.atlas.dropped_fields import find_dropped_fields
from mockkube.atlas.gate_readers import COMPONENTS
from mockkube.atlas.gate_trial import GateTrial
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.values import ComponentConfiguration, format_runtime_config
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore.observation.operator_requests import OperatorRequests, OperatorWorld
from mockkube.explore.plans import actions
from mockkube.explore.plans.plan import Action
from mockkube.runtime.steps import LivelockError
from mockkube.scenario.world import RunContext

NAMESPACE: Final = "default"
TOUCHED: Final = "atlas.mockkube.dev/touched"


class GateCluster:
    """Cluster with a gate on for some components. Entering starts it; users act through its methods."""

    def __init__(self, trial: GateTrial, on: Collection[str]) -> None:
        self.trial = trial
        self._on = frozenset(on)
        components = {name: ComponentConfiguration(None, trial.gates_of(name, on)) for name in COMPONENTS}
        configuration = ClusterConfiguration(
            version=trial.version,
            nodes=len(trial.workload.nodes),
            skew_policy="ignore",
            components=components,
            runtime_config=format_runtime_config(trial.workload.runtime_config),
        )
        self.cluster = SimulatedCluster(SimulatedClusterConfig(configuration))
        self._world = OperatorWorld(self.cluster, RunContext({}, Path()), OperatorRequests())
        self._stack = AsyncExitStack()
        # Requests that were refused, by what was asked for, with the reason.
        self.refused: dict[str, str] = {}
        # Warnings of the API server about accepted objects.
        self.warnings: dict[str, list[str]] = {}
        # Fields of accepted objects that were not stored.
        self.dropped: dict[str, list[str]] = {}
        # Whether components undid each other's writes without an end.
        self.has_livelock = False

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.cluster)
        for index, node in enumerate(self.trial.workload.nodes, 1):
            patch = {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": [dict(one) for one in node.taints]}}
            await self._world.client().patch("Node", Key("", f"node-{index}"), patch)
        await self.play(self.trial.workload.setup, "setup")
        await self.cluster.settle()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def use(self) -> None:
        """Create the workload, take the steps that use the feature, and let time pass after each."""
        await self.create()
        await self.pause()
        if self.trial.workload.actions:
            await self.play(self.trial.workload.actions, "step")
            await self.pause()

    async def create(self) -> None:
        """Create the workload."""
        for manifest in self.trial.workload.workload:
            name = describe(manifest)
            warnings: list[str] = []
            client = self.cluster.client(handle_warnings=warnings.extend)
            try:
                answer = await client.create(manifest["kind"], _with_namespace(manifest))
            except ApiError as error:
                self.refused[name] = error.message
                continue
            if warnings:
                self.warnings[name] = warnings
            dropped = list(find_dropped_fields(manifest, answer))
            if dropped:
                self.dropped[name] = dropped

    async def play(self, steps: Collection[Action], what: str) -> None:
        """Take steps of the scenario language; remember those that are refused."""
        for number, step in enumerate(steps, 1):
            refused = await actions.play_action(self._world, step)
            if refused:
                self.refused[f"{what} {number}"] = refused

    async def touch(self, manifest: ReadOnlyObject) -> str:
        """Change an annotation of an object; return why that is refused, or nothing."""
        metadata = _with_namespace(manifest)["metadata"]
        patch = {"metadata": {"annotations": {TOUCHED: "true"}}}
        key = Key(metadata.get("namespace", ""), metadata["name"])
        try:
            await self._world.client().patch(manifest["kind"], key, patch, patch_type=PatchType.MERGE)
        except ApiError as error:
            return error.message
        return ""

    async def change(self, component: str, on: Collection[str]) -> None:
        """Restart a component with the gate on, if it is one of these, or else off."""
        if (component in on) == (component in self._on):
            await self.cluster.restart_component(component)
        else:
            await self.cluster.change_component(component, gates=self.trial.gates_of(component, on))
        self._on = self._on - {component} | ({component} & frozenset(on))

    async def pause(self) -> None:
        """Let time pass."""
        try:
            await self.cluster.settle()
            await self.cluster.advance(self.trial.workload.seconds)
        except LivelockError:
            self.has_livelock = True

    async def read_objects(self) -> dict[str, Object]:
        """Return the stored objects by their keys in the store."""
        page = await self.cluster.store.list("")
        loaded = ((one.key, encoding.decode_stored(one.value, one.revision)[1]) for one in page.entries)
        return {key: encoding.loads(value) for key, value in loaded}


def describe(manifest: ReadOnlyObject) -> str:
    """Return the kind and name of an object, like `Pod web`."""
    metadata = manifest["metadata"]
    return f"{manifest['kind']} {metadata.get('name') or metadata.get('generateName', '')}"


def _with_namespace(manifest: ReadOnlyObject) -> Any:
    return {**manifest, "metadata": {"namespace": NAMESPACE, **manifest["metadata"]}}
