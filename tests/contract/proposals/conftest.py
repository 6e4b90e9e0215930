"""A proposal from outside that brings everything a proposal can bring, and components that have it."""

from pathlib import Path

import pytest

from mockkube.proposals import loading

TEXT = '''
"""A proposal that brings something of each kind."""

from mockkube.api.fields import invalid
from mockkube.api.validation.extensions import reject_toleration_operator
from mockkube.features.stages import Maturity, Stage
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.proposal import (
    Field, ObjectCheck, Operator, Proposal, SchedulerPlugin, by_pair, by_values,
)
from mockkube.scheduler.framework.interface import FilterPlugin, ScorePlugin
from mockkube.scheduler.framework.status import SUCCESS, Status

GATE = "QuietNodes"
TYPES = (
    "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.core.v1.Container",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.ServicePort",
    "io.k8s.api.apps.v1.DeploymentSpec",
    "io.k8s.api.coordination.v1.LeaseSpec",
    "io.k8s.api.scheduling.v1.PriorityClass",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
)


def check_quiet(item, at):
    level = item["quiet"].get("level", 0)
    return [] if level <= 10 else [invalid(f"{at}.quiet.level", level, "must be 10 or less")]


def check_value(toleration, at):
    value = toleration.get("value", "")
    return [] if value else [invalid(f"{at}.value", value, "must not be empty with operator Prefix")]


def check_replicas(deployment, at):
    replicas = deployment["spec"].get("replicas", 1)
    return [] if replicas < 5 else [invalid(f"{at}.spec.replicas", replicas, "must be less than 5")]


def keep_name(new, old):
    before, after = (one["metadata"].get("annotations", {}).get("own", "") for one in (old, new))
    return [] if before in ("", after) else [invalid("metadata.annotations[own]", after, "must not change")]


class Quiet(FilterPlugin, ScorePlugin):
    """Keeps pods that want quiet from loud nodes, and prefers quiet ones."""

    name = "Quiet"

    def __init__(self, context, args):
        self.label = args.get("label", "loud")

    def filter(self, state, pod, node):
        if pod.spec.get("quiet") and node.labels.get(self.label) == "true":
            return Status.unresolvable("node(s) were loud")
        return SUCCESS

    def score(self, state, pod, node):
        return 100 if node.labels.get("quiet") == "true" else 0


QUIET = Field(
    {
        "type": "object",
        "description": "How quiet it has to be.",
        "properties": {"level": {"type": "integer", "format": "int32"}, "on": {"type": "boolean"}},
    },
    check_quiet,
)

PROPOSAL = Proposal(
    kep=9999,
    gate=GATE,
    train=ReleaseTrain(
        GATE, stages=(Stage(Version(1, 36), Maturity.ALPHA, False), Stage(Version(1, 37), Maturity.BETA, True))
    ),
    tolerations={"Prefix": Operator(check_value, by_pair(lambda value, taint: taint.startswith(value)))},
    node_selectors={
        "AnyPrefix": Operator(
            lambda requirement, at: [],
            by_values(lambda values, label: label is not None and label.startswith(tuple(values))),
        ),
        "Between": Operator(
            lambda requirement, at: [],
            by_values(lambda values, label: label is not None and int(values[0]) <= int(label) <= int(values[1])),
        ),
        "Suffix": Operator(lambda requirement, at: [], by_pair(lambda value, label: label.endswith(value))),
    },
    device_tolerations={"Prefix": Operator(check_value, by_pair(lambda value, taint: taint.startswith(value)))},
    fields={definition: {"quiet": QUIET} for definition in TYPES},
    checks={
        "Deployment.apps": ObjectCheck(check_replicas),
        "Secret": ObjectCheck(transition=keep_name),
    },
    scheduler_plugins=[SchedulerPlugin("Quiet", Quiet, weight=100)],
)
'''


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the proposal."""
    path = tmp_path_factory.mktemp("proposal") / "quiet.py"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="session")
def trains(file: Path):
    """Release trains that bring it."""
    return loading.add_to_trains(loading.TRAINS, loading.load_file(file))
