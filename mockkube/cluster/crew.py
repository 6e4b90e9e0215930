"""Start, stop and restart the components that are no API servers."""

from collections.abc import Callable

from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reporting import Doing
from mockkube.cluster.parts import Runner
from mockkube.cluster.stage import Stage
from mockkube.cluster.workshop import Workshop
from mockkube.features.components import KUBELET


class Crew:
    """Runners of all components that are no API servers."""

    def __init__(
        self, workshop: Workshop, stage: Stage, control: ControlPlane, *, failed: Callable[[str], None]
    ) -> None:
        self.workshop = workshop
        self._stage = stage
        self._control = control
        # Called with the name of a component that failed, so that it is retried later.
        self._told = failed
        self._runners: dict[str, Runner] = {}
        self._failures: dict[str, str] = {}
        self._fallen: dict[str, None] = {}

    async def follow(self, name: str, asked: Asked | None) -> None:
        """Run a component with this spec; stop and forget it without one."""
        self._failures.pop(name, None)
        if asked is None:
            if name in self._runners:
                await self._runners.pop(name).stop()
                self.workshop.forget(name)
        else:
            runner = self._runner_of(name)
            await runner.become(asked)
            if runner.failure:
                self._fall(name)

    def _runner_of(self, name: str) -> Runner:
        runner = self._runners.get(name)
        if runner is None:
            owns = self._owned_by(name)
            runner = Runner(lambda asked: self.workshop.make(asked, owns), self._stage, failed=lambda: self._fall(name))
            self._runners[name] = runner
        return runner

    def _fall(self, name: str) -> None:
        self._failures[name] = self._runners[name].failure
        self._fallen[name] = None
        self._told(name)

    async def clear(self) -> None:
        """Stop components that failed; they are built again when their spec is applied."""
        # Not in the failure handler: that runs inside a step of the worker that failed.
        failed_names, self._fallen = self._fallen, {}
        for name in filter(self._runners.__contains__, failed_names):
            await self._runners[name].stop()

    async def stop(self) -> None:
        """Stop all components."""
        for runner in reversed(self._runners.values()):
            await runner.stop()

    def _owned_by(self, component: str) -> Callable[[str], bool]:
        """Return a function that returns whether this component simulates the kubelet of a node."""
        own = component.partition(".")[2]
        resource = self._control.resource("components")
        # Looked up each time: a component `kubelet.NODE` may be created or deleted while this runs.
        return lambda node: node == own if own else resource.record("", f"{KUBELET}.{node}") is None

    def doing(self, name: str, asked: Asked) -> Doing:
        """Return the state of a component that is to run."""
        if name in self._failures:
            return Doing(running=False, reason="Failed", message=self._failures[name])
        loops = tuple(self.workshop.loops(name))
        return Doing(running=True, reason="Running", message=f"works with {asked.server}", loops=loops)
