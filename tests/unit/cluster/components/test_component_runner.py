"""A component between its start and its end."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
import pytest_asyncio

from mockkube.cluster.components.component_runner import ComponentRunner
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.virtual_time_executor import VirtualTimeExecutor
from mockkube.features.versions import DEFAULT, Version
from mockkube.runtime.component import Component
from mockkube.runtime.steps import Signal, Worker
from mockkube.runtime.virtual_time import EPOCH, VirtualClock

ASKED = ComponentSpec(
    ComponentSettings("kube-scheduler", DEFAULT, {}, ()), should_run=True, server_name="kube-apiserver"
)


class Faulty:
    """A worker with one step, which fails where it is told to."""

    name = "faulty"

    def __init__(self, *, fails_in: str = "") -> None:
        self.signal = Signal()
        self.steps = 0
        self._fails_in = fails_in

    def is_ready(self) -> bool:
        self._fail_in("is_ready")
        return not self.steps

    def wake_at(self) -> float | None:
        self._fail_in("wake_at")
        return None

    async def step(self) -> None:
        self.steps += 1
        self._fail_in("step")

    def _fail_in(self, method: str) -> None:
        if method == self._fails_in:
            raise ValueError("a bug")


@dataclass
class StubPart:
    worker: Faulty
    refuses: bool = False
    log: list[str] = field(default_factory=list)

    async def start(self) -> None:
        self.log.append("start")
        if self.refuses:
            raise OSError("no room")

    @property
    def workers(self) -> Sequence[Worker]:
        return [self.worker]

    async def stop(self) -> None:
        self.log.append("stop")


@dataclass
class Rig:
    """A runner on a stage, and what it made."""

    stage: VirtualTimeExecutor
    part: StubPart = field(default_factory=lambda: StubPart(Faulty()))
    made: list[ComponentSpec] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runner = ComponentRunner(
            self.make, self.stage, on_failed=lambda: self.failures.append(self.runner.failure)
        )

    def make(self, asked: ComponentSpec) -> Component:
        self.made.append(asked)
        return self.part

    async def settle(self) -> None:
        await self.stage.advance_to(EPOCH)


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    clock = VirtualClock()

    async def quiet() -> None:
        await clock.sleep(0)

    async with VirtualTimeExecutor(clock, wait_for_delivery=quiet) as stage:
        rig = Rig(stage)
        yield rig
        await rig.runner.stop()


async def test_it_starts_and_its_workers_take_steps(rig: Rig) -> None:
    await rig.runner.apply_spec(ASKED)
    await rig.settle()
    assert (rig.part.log, rig.part.worker.steps) == (["start"], 1)


async def test_nothing_happens_while_nothing_else_is_asked(rig: Rig) -> None:
    await rig.runner.apply_spec(ASKED)
    await rig.runner.apply_spec(ASKED)
    assert rig.made == [ASKED]


async def test_another_version_is_another_part(rig: Rig) -> None:
    older = replace(ASKED, settings=replace(ASKED.settings, version=Version(1, 35)))
    await rig.runner.apply_spec(ASKED)
    await rig.runner.apply_spec(older)
    assert (rig.made, rig.part.log) == ([ASKED, older], ["start", "stop", "start"])


async def test_one_that_is_not_to_run_stops(rig: Rig) -> None:
    await rig.runner.apply_spec(ASKED)
    await rig.runner.apply_spec(replace(ASKED, should_run=False))
    assert (rig.part.log, rig.runner.failure) == (["start", "stop"], "")


async def test_a_start_that_fails_is_told_and_cleaned_up_after(rig: Rig) -> None:
    rig.part.refuses = True
    await rig.runner.apply_spec(ASKED)
    assert (rig.part.log, rig.runner.failure) == (["start", "stop"], "no room")
    rig.part.refuses = False
    await rig.runner.apply_spec(ASKED)
    assert rig.runner.failure == ""


@pytest.mark.parametrize(("method", "steps"), [("step", 1), ("is_ready", 0), ("wake_at", 1)])
async def test_a_bug_ends_the_part_and_nobody_else(rig: Rig, method: str, steps: int) -> None:
    rig.part.worker = Faulty(fails_in=method)
    await rig.runner.apply_spec(ASKED)
    await rig.stage.advance_to(EPOCH + timedelta(seconds=1))
    assert (rig.failures, rig.part.worker.steps) == (["a bug"], steps)
    rig.part.worker = Faulty()
    await rig.runner.apply_spec(ASKED)
    await rig.settle()
    assert (rig.part.log, rig.part.worker.steps) == (["start", "stop", "start"], 1)
