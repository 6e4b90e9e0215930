"""Workload: a cluster, the processes of the controller, and steps that a user takes."""

from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import IgnoredPath
from mockkube.scenario.fields import Seconds
from mockkube.scenario.matching import find_differences
from mockkube.scenario.scenario import ScenarioOperation

# Seconds without activity after which the first reference run is at rest. Controllers often look again after five
# seconds, and are not judged before. Later runs rest for as long as it has shown to be necessary.
FIRST_QUIET_SECONDS: Final = 6.0
# The same for runs that are played again, because they were judged too early.
QUIET_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = Seconds(20.0)
STEP_SECONDS_MAX: Final = Seconds(60.0)


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of the controller."""

    name: str
    # `{kubeconfig}` and `{url}` stand for those of the cluster.
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None

    @property
    def user(self) -> str:
        """User of its kubeconfig."""
        return f"mockkube-perturb:{self.name}"


@dataclass(frozen=True, slots=True)
class ForbiddenState:
    """Partial object that no object may match at any time."""

    expected: Object

    def matches(self, obj: ReadOnlyObject) -> bool:
        """Return whether an object matches."""
        return not find_differences(self.expected, dict(obj), {})


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """Perturbations after which another state is right, and why."""

    # Identifiers; `*` stands for any text.
    perturbations: tuple[str, ...]
    reason: str

    def covers(self, perturbation: str) -> bool:
        """Return whether a perturbation is one of them."""
        return any(fnmatchcase(perturbation, pattern) for pattern in self.perturbations)


@dataclass(frozen=True, slots=True)
class Workload:
    """Cluster, processes and steps that every run plays."""

    directory: Path
    configuration: ClusterConfiguration
    processes: tuple[ProcessSpec, ...]
    # Before the processes start.
    setup: tuple[ScenarioOperation, ...]
    steps: tuple[ScenarioOperation, ...]
    # Checks that hold at the end of every run.
    invariants: tuple[ScenarioOperation, ...] = ()
    never: tuple[ForbiddenState, ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()
    namespace: str = "default"
    # None: learnt from the reference runs.
    quiet_seconds: float | None = None
    patience_seconds: float = PATIENCE_SECONDS
    step_seconds_max: float = STEP_SECONDS_MAX
    # Kinds of perturbations to try; empty: all.
    kinds: tuple[str, ...] = ()
    known: tuple[KnownFinding, ...] = ()
    # Numbers of the steps to play; empty: all.
    chosen_steps: frozenset[int] = frozenset()

    def plays(self, step: int) -> bool:
        """Return whether a step is played."""
        return not self.chosen_steps or step in self.chosen_steps

    @property
    def last_step(self) -> int:
        """Number of the last step that is played."""
        return max((number for number in range(1, len(self.steps) + 1) if self.plays(number)), default=0)

    def find_known(self, perturbation: str) -> KnownFinding | None:
        """Return why a perturbation may leave another state; None if nothing is known of it."""
        return next((one for one in self.known if one.covers(perturbation)), None)

    def find_process(self, user: str) -> str:
        """Return the name of the process that has a user; empty for other users."""
        return next((one.name for one in self.processes if one.user == user), "")
