"""Every step and check, by the verb that scenario files use."""

from collections.abc import Mapping
from typing import Final

from mockkube.scenario.checks.assertion import AssertCheck, ErrorCheck
from mockkube.scenario.checks.expect_event import ExpectEventCheck
from mockkube.scenario.checks.expect_log import ExpectLogCheck
from mockkube.scenario.checks.expect_metric import ExpectMetricCheck
from mockkube.scenario.checks.expect_rate import ExpectRateCheck
from mockkube.scenario.checks.expect_rejected import ExpectRejectedCheck
from mockkube.scenario.checks.expect_why import ExpectWhyCheck
from mockkube.scenario.kubectl.step import KubectlStep
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.steps.advance import AdvanceStep, SleepStep
from mockkube.scenario.steps.apply import ApplyStep
from mockkube.scenario.steps.component import ComponentStep
from mockkube.scenario.steps.create import CreateStep
from mockkube.scenario.steps.custom_controller import CustomControllerStep
from mockkube.scenario.steps.delete import DeleteStep
from mockkube.scenario.steps.fault import FaultStep
from mockkube.scenario.steps.patch import PatchStep
from mockkube.scenario.steps.restart import RestartStep
from mockkube.scenario.steps.scan import ScanStep
from mockkube.scenario.steps.script import CommandStep, ScriptStep
from mockkube.scenario.steps.settle import SettleStep
from mockkube.scenario.steps.show import DescribeStep, EventsStep, GetStep, PodLogsStep
from mockkube.scenario.steps.snapshot import RestoreStep, SnapshotStep
from mockkube.scenario.steps.taint import TaintStep
from mockkube.scenario.steps.update import UpdateStep
from mockkube.scenario.steps.wait import WaitStep

STEPS: Final[tuple[type[ScenarioStep], ...]] = (
    ApplyStep,
    CreateStep,
    UpdateStep,
    PatchStep,
    DeleteStep,
    KubectlStep,
    TaintStep,
    ComponentStep,
    RestartStep,
    CustomControllerStep,
    FaultStep,
    SnapshotStep,
    RestoreStep,
    AdvanceStep,
    SleepStep,
    SettleStep,
    WaitStep,
    ScanStep,
    ScriptStep,
    CommandStep,
    GetStep,
    DescribeStep,
    EventsStep,
    PodLogsStep,
)
CHECKS: Final[tuple[type[ScenarioStep], ...]] = (
    AssertCheck,
    ErrorCheck,
    ExpectRejectedCheck,
    ExpectEventCheck,
    ExpectLogCheck,
    ExpectRateCheck,
    ExpectMetricCheck,
    ExpectWhyCheck,
)
VERBS: Final[Mapping[str, type[ScenarioStep]]] = {step.verb: step for step in (*STEPS, *CHECKS)}
