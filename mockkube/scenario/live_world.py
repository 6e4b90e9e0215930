"""World in real time: a cluster with an address, of mockkube or any other."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.http import HttpClient
from mockkube.client.protocol import Client, Key
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.values import default_release_trains
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.control.conditions import get_condition
from mockkube.cluster.control.schemas import GROUP, VERSION
from mockkube.cluster.control.snapshot import SAVED_CONDITION
from mockkube.features.components import API_SERVER
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogEntry
from mockkube.scenario.errors import StepFailed, StepNotSupported
from mockkube.scenario.world import ADMINISTRATOR, RequestOptions, RunContext, World

POLL_SECONDS: Final = 0.2
_CHANGE_SECONDS_MAX: Final = 30.0
_NOT_MOCKKUBE: Final = "this cluster is none of mockkube's, so its components cannot be changed"


class LiveWorld(World):
    """A cluster reached over the network. Its components never stop working, so it is never at rest."""

    def __init__(self, client: HttpClient, kubeconfig: Path, clock: Clock, context: RunContext) -> None:
        super().__init__(context)
        self._client, self._kubeconfig, self._clock = client, kubeconfig, clock
        self._began = clock.monotonic()
        self._components: dict[str, Object] = {}

    async def list_components(self) -> None:
        """Read the components from the control API; a cluster that is not mockkube's has none."""
        try:
            listed = await self._client.list(f"Component.{GROUP}")
        except NotFound:
            return
        self._components = {obj["metadata"]["name"]: dict(obj) for obj in listed.items}

    @property
    def clock(self) -> Clock:
        """Real clock."""
        return self._clock

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return self._clock.monotonic() - self._began

    def settings(self, component: str) -> ComponentSettings:
        """Return version and gates of a component from the control API."""
        if component not in self._components:
            raise StepNotSupported(_NOT_MOCKKUBE)
        return ComponentSpec.from_object(self._components[component], default_release_trains()).settings

    def client(self, options: RequestOptions = ADMINISTRATOR) -> Client:
        """Return the client of the kubeconfig's user."""
        if options.user or options.groups:
            raise StepNotSupported("only the user of the kubeconfig can ask here")
        if options.server != API_SERVER:
            raise StepNotSupported(f"{options.server} has an address of its own")
        if options.dry_run or options.field_validation == "Ignore":
            raise StepNotSupported("requests are sent as they are: no dry run, no validation left out")
        return self._client

    async def settle(self) -> None:
        """Do nothing: no client can tell whether such a cluster is at rest."""

    async def advance(self, seconds: float) -> None:
        """Sleep."""
        await self._clock.sleep(seconds)

    async def wait_until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Poll until the condition holds."""
        deadline = self._clock.monotonic() + seconds_max
        while not await holds():
            if self._clock.monotonic() >= deadline:
                return False
            await self._clock.sleep(POLL_SECONDS)
        return True

    async def change_component(self, name: str, **wished: Any) -> Sequence[str]:
        """Patch the component in the control API, and wait until its status follows."""
        spec: Object = {key: wished[key] for key in ("version", "running", "server") if wished.get(key) is not None}
        if wished.get("gates"):
            spec["featureGates"] = dict(wished["gates"])
        kind, key = f"Component.{GROUP}", Key("", name)
        if not self._components:
            raise StepNotSupported(_NOT_MOCKKUBE)
        if name not in self._components:
            await self._client.create(kind, {"metadata": {"name": name}, "spec": spec})
        else:
            await self._client.patch(kind, key, {"spec": spec}, patch_type=PatchType.MERGE)
        await self._await_object(f"Component.{GROUP}", key, _is_settled)
        await self.list_components()
        return ()

    async def restart_component(self, component: str) -> None:
        """Stop the component and start it again."""
        await self.change_component(component, running=False)
        await self.change_component(component, running=True)

    async def remove_component(self, component: str) -> None:
        """Delete the component from the control API."""
        if not self._components:
            raise StepNotSupported(_NOT_MOCKKUBE)
        await self._client.delete(f"Component.{GROUP}", Key("", component))
        await self.list_components()

    async def set_fault(self, name: str, spec: Object | None) -> None:
        """Create or delete the fault in the control API."""
        if not self._components:
            raise StepNotSupported("this cluster is none of mockkube's, so nothing goes wrong on demand")
        kind = f"Fault.{GROUP}"
        if spec is None:
            await self._client.delete(kind, Key("", name))
        else:
            await self._client.create(kind, {"metadata": {"name": name}, "spec": spec})

    async def save_snapshot(self, name: str) -> None:
        """Create the snapshot in the control API, and wait until it is saved."""
        if not self._components:
            raise StepNotSupported("this cluster is none of mockkube's, so it keeps no snapshots")
        await self._client.create(f"Snapshot.{GROUP}", {"metadata": {"name": name}, "spec": {}})
        await self._await_object(f"Snapshot.{GROUP}", Key("", name), _is_saved)

    async def restore_snapshot(self, name: str) -> None:
        """Ask the control API for a restore, and wait until it is done."""
        kind, key = f"Snapshot.{GROUP}", Key("", name)
        # A snapshot can be restored several times, so its spec holds a counter and not a flag.
        restore_count = (await self._client.get(kind, key))["spec"].get("restore", 0) + 1
        await self._client.patch(kind, key, {"spec": {"restore": restore_count}}, patch_type=PatchType.MERGE)

        def restored(obj: ReadOnlyObject) -> bool:
            return bool(obj.get("status", {}).get("restored", 0) >= restore_count)

        await self._await_object(kind, key, restored)

    async def _await_object(self, kind: str, key: Key, holds: Callable[[ReadOnlyObject], bool]) -> None:
        """Wait until an object of the control API fulfills a condition."""

        async def so() -> bool:
            return holds(await self._client.get(kind, key))

        if not await self.wait_until(so, _CHANGE_SECONDS_MAX):
            raise StepFailed(f"{kind} {key.name}: the cluster does not follow within {_CHANGE_SECONDS_MAX:g} s")

    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return the explanation that the control API gives."""
        if not self._components:
            raise StepNotSupported(_NOT_MOCKKUBE)
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(pod.namespace)}/pods/{quote(pod.name)}/why"
        explanation: ReadOnlyObject = await self._client.get_path(path)
        return explanation

    def hot_loops(self) -> list[Mapping[str, Any]]:
        """Refuse: hot loops are counted in virtual time only."""
        raise StepNotSupported("loops are counted in virtual time only")

    def list_writes(self, since: float) -> list[tuple[str, str, str]]:
        """Refuse: writes are traced in virtual time only."""
        raise StepNotSupported("writes are counted in virtual time only")

    async def read_metrics(self, component: str) -> str:
        """Refuse: metrics are compared in virtual time only."""
        raise StepNotSupported("metrics are compared in virtual time only")

    def read_log(self, component: str, since: float) -> Iterable[LogEntry]:
        """Refuse: logs are read in virtual time only."""
        raise StepNotSupported("logs of components are read in virtual time only")

    async def environment(self) -> Mapping[str, str]:
        """Return the kubeconfig's path."""
        return {"KUBECONFIG": str(self._kubeconfig)}


def _is_settled(obj: ReadOnlyObject) -> bool:
    """Return whether the status of a component shows what its spec asks for."""
    status = obj.get("status", {})
    # A status of an older generation may show `running` by chance, before the restart has begun.
    is_observed = status.get("observedGeneration") == obj["metadata"]["generation"]
    return bool(is_observed and status.get("running", False) == obj["spec"].get("running", True))


def _is_saved(obj: ReadOnlyObject) -> bool:
    """Return whether a snapshot is saved."""
    return bool(get_condition(obj, SAVED_CONDITION).get("status") == "True")
