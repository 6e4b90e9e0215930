"""Carry out the perturbation of a run: faults, kills, restarts with stale caches, stolen leases."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from mockkube.api.errors import ApiError
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.client.protocol import Client, Key
from mockkube.cluster.control_plane import ControlPlane
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import TOUCHED, ObjectId
from mockkube.perturb.perturbation import Perturbation, StalePoint, make_fault
from mockkube.perturb.processes import ControllerProcess
from mockkube.perturb.recorder import RunRecorder
from mockkube.runtime.clock import Clock

# Holder of a stolen lease.
THIEF: Final = "mockkube-perturb"
_FAULTS: Final = "faults"
_FOLLOW_SECONDS: Final = 0.001
_ERROR_MIN: Final = 400
_STOLEN_SECONDS: Final = 5

StartTask = Callable[[Coroutine[Any, Any, None]], None]


@dataclass(frozen=True, slots=True)
class InjectionDependencies:
    """Control plane, processes and recorder that perturbations act on."""

    control_plane: ControlPlane
    processes: Mapping[str, ControllerProcess]
    recorder: RunRecorder
    client: Client
    clock: Clock
    start_task: StartTask


class PerturbationInjector:
    """Carries out the perturbation of a run, or several one after the other, or none."""

    def __init__(self, perturbation: Perturbation | None, dependencies: InjectionDependencies) -> None:
        parts = () if perturbation is None else perturbation.list_parts()
        self._injections = [_Injection(one, dependencies, number) for number, one in enumerate(parts)]

    @property
    def reached(self) -> frozenset[str]:
        """Identifiers of the perturbations that have happened."""
        return frozenset(one.perturbation.id for one in self._injections if one.is_reached)

    @property
    def is_in_force(self) -> bool:
        """True if a perturbation has begun and not ended."""
        return any(one.is_in_force for one in self._injections)

    async def begin_step(self, step: int) -> None:
        """Bring faults into force that begin with this step."""
        for one in self._injections:
            await one.begin_step(step)

    def note_request(self, observed: ObservedRequest) -> None:
        """Let another client be first with a write to an object."""
        for one in self._injections:
            one.note_request(observed)

    def note_response(self, observed: ObservedRequest) -> None:
        """Kill a process whose write has taken effect."""
        for one in self._injections:
            one.note_response(observed)

    async def end_step(self, step: int, wait_until_quiet: Callable[[], Awaitable[None]]) -> None:
        """End the faults, and do what is to be done while the controller rests."""
        for one in self._injections:
            await one.end_step(step, wait_until_quiet)

    async def end(self) -> None:
        """End all faults that are in force."""
        for one in self._injections:
            if one.is_in_force:
                await one.end()


class _Injection:
    """Carries out one perturbation on one cluster."""

    def __init__(self, perturbation: Perturbation, dependencies: InjectionDependencies, number: int) -> None:
        self.perturbation = perturbation
        # Whether the perturbation has happened.
        self.is_reached = False
        # Whether it has begun and not ended.
        self.is_in_force = False
        self._control_plane, self._processes = dependencies.control_plane, dependencies.processes
        self._recorder, self._client = dependencies.recorder, dependencies.client
        self._clock, self._start_task = dependencies.clock, dependencies.start_task
        self._number = number
        self._fault_names: list[str] = []
        self._matched_writes = 0

    async def begin_step(self, step: int) -> None:
        """Bring faults into force, if the perturbation belongs to this step."""
        one = self.perturbation
        if one.step != step:
            return
        self.is_in_force = True
        if one.stolen_lease is not None:
            await self._steal_lease(one.stolen_lease)
        await self._create_faults(one.faults)

    def note_request(self, observed: ObservedRequest) -> None:
        """Let another client be first with a write to an object."""
        one = self.perturbation
        if one.touch_before is None or not self.is_in_force or not one.touch_before.matches(observed):
            return
        self._matched_writes += 1
        if self._matched_writes == one.touch_before.number:
            self._start_task(self._touch(observed))

    async def _touch(self, observed: ObservedRequest) -> None:
        """Change an object, and change it back: its content stays, its resourceVersion does not."""
        kind = f"{observed.kind}.{observed.group}" if observed.group else observed.kind
        key = Key(observed.namespace, observed.name)
        with suppress(ApiError):
            for value in ("true", None):
                patch = {"metadata": {"annotations": {TOUCHED: value}}}
                await self._client.patch(kind, key, patch, patch_type=PatchType.MERGE)

    def note_response(self, observed: ObservedRequest) -> None:
        """Kill a process whose write has taken effect; it does not get the answer."""
        one = self.perturbation
        if one.kill_after is None or not self.is_in_force or self.is_reached:
            return
        if observed.status < _ERROR_MIN and one.kill_after.matches(observed):
            self._matched_writes += 1
            if self._matched_writes == one.kill_after.number:
                self.is_reached = True
                self._processes[one.kill_after.process].kill()

    async def end_step(self, step: int, wait_until_quiet: Callable[[], Awaitable[None]]) -> None:
        """End the faults, and do what is to be done while the controller rests."""
        one = self.perturbation
        if not self.is_in_force:
            return
        if one.kill_at_rest and one.step == step:
            await self._restart(one.kill_at_rest, one.stale_point, wait_until_quiet)
        if one.ends_after <= step:
            await self.end()

    async def end(self) -> None:
        """End all faults."""
        self.is_in_force = False
        names, self._fault_names = self._fault_names, []
        for name in names:
            fault = self._control_plane.faults.get(name)
            self.is_reached = self.is_reached or (fault is not None and fault.injected > 0)
            await self._control_plane.control_api.delete_object(_FAULTS, name)
            await self._wait_for_fault(name, exists=False)
        if names:
            self._recorder.note_process("", "the faults end" if self.is_reached else "the faults end, unused")

    async def _create_faults(self, specs: Sequence[Mapping[str, Any]]) -> None:
        for spec in specs:
            name = f"perturb-{self._number}-{len(self._fault_names)}"
            await self._control_plane.control_api.create_object(_FAULTS, name, dict(spec))
            await self._wait_for_fault(name, exists=True)
            self._fault_names.append(name)
        if specs:
            self._recorder.note_process("", f"fault: {self.perturbation.text}")

    async def _wait_for_fault(self, name: str, *, exists: bool) -> None:
        """Wait until the controller of faults has followed, in the next turns of the event loop."""
        while (self._control_plane.faults.get(name) is not None) != exists:
            await self._clock.sleep(_FOLLOW_SECONDS)

    async def _restart(
        self, names: Sequence[str], stale_point: StalePoint | None, wait_until_quiet: Callable[[], Awaitable[None]]
    ) -> None:
        """Kill processes and start them again, with caches that show the state of a past moment until they rest."""
        revision = 0 if stale_point is None else self._find_revision(stale_point)
        if stale_point is not None and not revision:
            return
        for name in names:
            self._processes[name].kill(restart=False)
        self.is_reached = stale_point is None
        if stale_point is not None:
            for name in names:
                user = self._processes[name].spec.user
                stale = {"staleReads": True, "resourceVersion": str(revision)}
                await self._create_faults(
                    [
                        make_fault(stale, {"user": user, "fromCache": True}),
                        make_fault({"holdEvents": True}, {"user": user, "verbs": ["watch"]}),
                    ]
                )
        for name in names:
            self._processes[name].resume()
        await wait_until_quiet()

    def _find_revision(self, point: StalePoint) -> int:
        """Return the revision of a past moment of this run; 0 if there was none."""
        record = self._recorder.record
        if point.terminating is None:
            return next((one.revision for one in record.steps if one.index == point.step), 0)
        found = (
            one.revision
            for one in self._recorder.history.changes
            if one.identity == point.terminating and one.is_terminating
        )
        return next(found, 0)

    async def _steal_lease(self, lease: ObjectId) -> None:
        """Let another holder have a lease."""
        now: datetime = self._clock.now()
        spec = {
            "holderIdentity": THIEF,
            "leaseDurationSeconds": _STOLEN_SECONDS,
            "acquireTime": f"{now:%Y-%m-%dT%H:%M:%S.%f}Z",
            "renewTime": f"{now:%Y-%m-%dT%H:%M:%S.%f}Z",
        }
        try:
            key = Key(lease.namespace, lease.name)
            await self._client.patch("Lease", key, {"spec": spec}, patch_type=PatchType.MERGE)
        except ApiError:
            return
        self.is_reached = True
        self._recorder.note_process("", f"another holder takes the lease {lease.namespace}/{lease.name}")
