"""Start, stop and restart the components that are no API servers."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mockkube.cluster.components.component_factory import ComponentFactory
from mockkube.cluster.components.component_runner import ComponentRunner
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.control.component_status import ComponentState
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.execution.executor import Executor
from mockkube.features.components import KUBELET

if TYPE_CHECKING:
    from mockkube.client.leader_election import LeaderElectionConfig
    from mockkube.cluster.components.leader_elected_runner import LeaderElectedRunner


class ComponentManager:
    """Runners of all components that are no API servers."""

    def __init__(
        self,
        factory: ComponentFactory,
        executor: Executor,
        control_api: ControlApi,
        *,
        on_failed: Callable[[str], None],
        on_changed: Callable[[], None],
        on_removed: Callable[[str], None],
        elections: "Mapping[str, LeaderElectionConfig]",
    ) -> None:
        """Run the components of `elections` only while they hold their Lease."""
        self.factory = factory
        self._executor = executor
        self._control_api = control_api
        # Called with the name of a component that failed, so that it is retried later.
        self._on_failed = on_failed
        # Called when a component begins or ceases to lead, or sees another leader.
        self._on_changed = on_changed
        # Called with the name of a deleted component.
        self._on_removed = on_removed
        self._elections = elections
        self._runners: dict[str, ComponentRunner | LeaderElectedRunner] = {}
        self._failures: dict[str, str] = {}
        self._failed: dict[str, None] = {}

    async def apply_spec(self, name: str, spec: ComponentSpec | None) -> None:
        """Run a component with this spec; stop and forget it without one."""
        self._failures.pop(name, None)
        if spec is None:
            if name in self._runners:
                await self._runners.pop(name).stop()
                self.factory.remove_component(name)
                self._on_removed(name)
        else:
            runner = self._get_runner(name)
            await runner.apply_spec(spec)
            if runner.failure:
                self._record_failure(name)

    def _get_runner(self, name: str) -> "ComponentRunner | LeaderElectedRunner":
        runner = self._runners.get(name)
        if runner is None:
            runner = self._runners[name] = self._create_runner(name)
        return runner

    def _create_runner(self, name: str) -> "ComponentRunner | LeaderElectedRunner":
        owns = self._make_owns_node(name)
        election = self._elections.get(name)
        if election is None:
            return ComponentRunner(
                lambda spec: self.factory.create_component(spec, owns),
                self._executor,
                on_failed=lambda: self._record_failure(name),
            )
        from mockkube.cluster.components.leader_elected_runner import LeaderElectedRunner

        return LeaderElectedRunner(
            lambda spec: self.factory.create_elector(spec, election),
            lambda spec, holds_lease: self.factory.create_component(spec, owns, holds_lease),
            self._executor,
            on_failed=lambda: self._record_failure(name),
            on_changed=self._on_changed,
            on_stopped=self.factory.reset_component,
        )

    def _record_failure(self, name: str) -> None:
        self._failures[name] = self._runners[name].failure
        self._failed[name] = None
        self._on_failed(name)

    async def stop_failed(self) -> None:
        """Stop components that failed; they are built again when their spec is applied."""
        # Not in the failure handler: that runs inside a step of the worker that failed.
        failed_names, self._failed = self._failed, {}
        for name in filter(self._runners.__contains__, failed_names):
            await self._runners[name].stop()

    async def stop(self) -> None:
        """Stop all components."""
        for runner in reversed(self._runners.values()):
            await runner.stop()

    def _make_owns_node(self, component: str) -> Callable[[str], bool]:
        """Return a function that returns whether this component simulates the kubelet of a node."""
        own = component.partition(".")[2]
        resource = self._control_api.get_resource("components")
        # Looked up each time: a component `kubelet.NODE` may be created or deleted while this runs.
        return lambda node: node == own if own else resource.get_cached("", f"{KUBELET}.{node}") is None

    def get_state(self, name: str, spec: ComponentSpec) -> ComponentState:
        """Return the state of a component that is to run."""
        if name in self._failures:
            return ComponentState(is_running=False, reason="Failed", message=self._failures[name])
        if name in self._runners and (message := self._runners[name].standby_message):
            # As upstream's, the process of a standby runs, and answers for its health and metrics.
            return ComponentState(is_running=True, reason="Standby", message=message)
        loops = tuple(self.factory.find_hot_loops(name))
        return ComponentState(
            is_running=True, reason="Running", message=f"works with {spec.server_name}", hot_loops=loops
        )
