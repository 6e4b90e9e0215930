"""Run one component while this process holds its Lease."""

import asyncio
from collections.abc import Callable, Sequence

from mockkube.client.leader_election import LeaderElector
from mockkube.cluster.components.component_runner import ComponentRunner, GuardedWorker
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.executor import Executor
from mockkube.runtime.component import Component
from mockkube.runtime.steps import Signal, Worker

# Builds a component; the function returns whether the Lease under which it was built is still held.
CreateElectedComponent = Callable[[ComponentSpec, Callable[[], bool]], Component]


class LeaderElectedRunner:
    """Runs a component from the acquisition of its Lease to the loss; then its memory is lost.

    differs: upstream's process exits when it loses the Lease, and whoever started it starts it again; here the
    candidate stays.
    """

    def __init__(
        self,
        create_elector: Callable[[ComponentSpec], LeaderElector],
        create_component: CreateElectedComponent,
        executor: Executor,
        *,
        on_failed: Callable[[], None],
        on_changed: Callable[[], None],
        on_stopped: Callable[[ComponentSpec], None],
    ) -> None:
        """Call `on_changed` after each change of `standby_message`, `on_stopped` once a component has been stopped."""
        self._create_elector, self._create_component = create_elector, create_component
        self._executor, self._on_failed = executor, on_failed
        self._on_changed, self._on_stopped = on_changed, on_stopped
        self._runner = ComponentRunner(self._create, executor, on_failed=on_failed)
        self._elector: LeaderElector | None = None
        self._spec: ComponentSpec | None = None
        self._workers: Sequence[Worker] = ()
        # Why the election does not run although it should.
        self._election_failure = ""
        # Term of the elector in which the component was started; 0 while it does not run.
        self._term = 0
        self._signal = Signal()
        # Held by whoever starts or stops the component: its end must not be cancelled in the middle.
        self._lock = asyncio.Lock()

    @property
    def failure(self) -> str:
        """Error that keeps the component and its election from running; empty if there is none."""
        return self._election_failure or self._runner.failure

    @property
    def standby_message(self) -> str:
        """Message about the holder of the Lease; empty while the component runs."""
        if self._elector is None or self._term:
            return ""
        lease, holder = self._elector.config.key, self._elector.holder
        return f"the lease {lease} is held by {holder}" if holder else f"it waits for the lease {lease}"

    async def apply_spec(self, spec: ComponentSpec) -> None:
        """Take part in the election for this spec; do nothing if it does already."""
        if self._elector is not None and self._spec == spec and not self.failure:
            return
        await self.stop()
        if not spec.should_run:
            return
        elector = self._create_elector(spec)
        elector.on_changed = self._signal.notify
        self._elector, self._spec = elector, spec
        workers = (*elector.workers, _LeadershipWorker(f"{elector.name}/component", self._signal, self))
        self._workers = [GuardedWorker(worker, self._handle_failure) for worker in workers]
        self._executor.add_workers(self._workers)

    def _create(self, spec: ComponentSpec) -> Component:
        elector, term = self._elector, self._term
        assert elector is not None, "a component is started under an election"
        return self._create_component(spec, lambda: elector.is_leading and elector.term == term)

    def find_term(self) -> int:
        """Return the term in which this candidate leads; 0 if it does not."""
        return self._elector.term if self._elector is not None and self._elector.is_leading else 0

    def follows_lease(self) -> bool:
        """Return whether the component runs exactly if its Lease is held."""
        return self._term == self.find_term()

    async def follow_lease(self) -> None:
        """Stop the component of an earlier term, and start it in a new one."""
        async with self._lock:
            if self._term and self._spec is not None:
                self._term = 0
                await self._runner.stop()
                self._on_stopped(self._spec)
            if (term := self.find_term()) and self._spec is not None:
                self._term = term
                await self._runner.apply_spec(self._spec)
                if self._runner.failure:
                    self._on_failed()
        self._on_changed()

    def _handle_failure(self, error: Exception) -> None:
        self._election_failure = str(error) or type(error).__name__
        self._on_failed()

    async def stop(self) -> None:
        """Stop the component, then give the Lease up."""
        # From here on no step starts the component; one that does is waited for.
        async with self._lock:
            elector, self._elector = self._elector, None
            self._spec, self._term = None, 0
        workers, self._workers = self._workers, ()
        await self._executor.remove_workers(workers)
        await self._runner.stop()
        self._election_failure = ""
        if elector is not None:
            await elector.release()


class _LeadershipWorker:
    """Worker that starts and stops the component as the Lease is won and lost."""

    def __init__(self, name: str, signal: Signal, runner: LeaderElectedRunner) -> None:
        self.name, self.signal, self._runner = name, signal, runner
        self._seen_holder = ""

    def is_ready(self) -> bool:
        """Return whether the component must be started or stopped, or another holder was seen."""
        return not self._runner.follows_lease() or self._runner.standby_message != self._seen_holder

    def wake_at(self) -> float | None:
        """Return None: the elector notifies the signal."""
        return None

    async def step(self) -> None:
        """Start or stop the component."""
        await self._runner.follow_lease()
        self._seen_holder = self._runner.standby_message
