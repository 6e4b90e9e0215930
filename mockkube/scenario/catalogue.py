"""Every step and check, by the verb that scenario files use."""

from collections.abc import Mapping
from typing import Final

from mockkube.scenario.checks.assertion import Assert, Error
from mockkube.scenario.checks.expect_event import ExpectEvent
from mockkube.scenario.checks.expect_log import ExpectLog
from mockkube.scenario.checks.expect_metric import ExpectMetric
from mockkube.scenario.checks.expect_rate import ExpectRate
from mockkube.scenario.checks.expect_rejected import ExpectRejected
from mockkube.scenario.checks.expect_why import ExpectWhy
from mockkube.scenario.step import Step
from mockkube.scenario.steps.advance import Advance, Sleep
from mockkube.scenario.steps.apply import Apply
from mockkube.scenario.steps.component import Component
from mockkube.scenario.steps.create import Create
from mockkube.scenario.steps.delete import Delete
from mockkube.scenario.steps.fault import Fault
from mockkube.scenario.steps.kubectl import Kubectl
from mockkube.scenario.steps.patch import Patch
from mockkube.scenario.steps.restart import Restart
from mockkube.scenario.steps.scan import Scan
from mockkube.scenario.steps.script import Command, Script
from mockkube.scenario.steps.settle import Settle
from mockkube.scenario.steps.showing import Describe, Events, Get, PodLogs
from mockkube.scenario.steps.snapshot import Restore, Snapshot
from mockkube.scenario.steps.taint import Taint
from mockkube.scenario.steps.update import Update
from mockkube.scenario.steps.wait import Wait

STEPS: Final[tuple[type[Step], ...]] = (
    Apply,
    Create,
    Update,
    Patch,
    Delete,
    Kubectl,
    Taint,
    Component,
    Restart,
    Fault,
    Snapshot,
    Restore,
    Advance,
    Sleep,
    Settle,
    Wait,
    Scan,
    Script,
    Command,
    Get,
    Describe,
    Events,
    PodLogs,
)
CHECKS: Final[tuple[type[Step], ...]] = (
    Assert,
    Error,
    ExpectRejected,
    ExpectEvent,
    ExpectLog,
    ExpectRate,
    ExpectMetric,
    ExpectWhy,
)
VERBS: Final[Mapping[str, type[Step]]] = {step.verb: step for step in (*STEPS, *CHECKS)}
