"""Scenario after parsing: claims, cluster setup, blocks of steps, variables and matrix."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.claims import Claim
from mockkube.scenario.fields import SourceLocation

Order = Literal["in-order", "shuffled"]
Settling = Literal["after-each-step", "when-told"]


@dataclass(frozen=True)
class ComponentSetup:
    """Settings of one component at the start."""

    version: Annotated[str, "its Kubernetes version"] = ""
    feature_gates: Annotated[Mapping[str, bool], "gates over those of the cluster"] = field(default_factory=dict)
    running: Annotated[bool, "whether it runs"] = True
    server: Annotated[str, "the API server it talks to"] = ""
    flags: Annotated[Mapping[str, Any], "node-monitor-grace-period and others of the controller manager; config"] = (
        field(default_factory=dict)
    )


@dataclass(frozen=True)
class ClusterSetup:
    """Cluster that a scenario starts with."""

    version: Annotated[str, "the Kubernetes version of all components"] = "1.36"
    feature_gates: Annotated[Mapping[str, bool], "gates of all components that have them"] = field(default_factory=dict)
    components: Annotated[Mapping[str, ComponentSetup], "settings of single components"] = field(default_factory=dict)
    nodes: Annotated[int, "how many nodes there are: node-1, node-2, ..."] = 0
    without: Annotated[tuple[str, ...], "parts to leave out: scheduler, controllers, kubelets"] = ()
    skew_policy: Annotated[Literal["enforce", "warn", "ignore"], "versions that do not go together"] = "warn"
    release_trains: Annotated[tuple[Any, ...], "what if a gate took another train: {gate, stages}"] = ()
    enable_admission_plugins: Annotated[tuple[str, ...], "plugins beside those that are on by default"] = ()
    disable_admission_plugins: Annotated[tuple[str, ...], "plugins to leave out"] = ()
    runtime_config: Annotated[Mapping[str, bool], "API versions to serve or not, like api/alpha"] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class ScenarioOperation:
    """One step of a file: parsed when the scenario is loaded, and again with variables bound when it is played."""

    verb: str
    arguments: Any
    location: SourceLocation
    description: str = ""

    @property
    def line(self) -> int:
        """Line in the file."""
        return self.location.line


@dataclass(frozen=True, slots=True)
class StepBlock:
    """Steps that belong together, those for a failure, and those that always follow."""

    name: str
    operations: tuple[ScenarioOperation, ...]
    catch: tuple[ScenarioOperation, ...] = ()
    finally_operations: tuple[ScenarioOperation, ...] = ()
    bindings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One combination of the matrix."""

    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return ",".join(f"{name}={_format_value(value)}" for name, value in self.values)


def _format_value(value: Any) -> str:
    """Return a value in short: a mapping by its name or its values."""
    if isinstance(value, Mapping):
        return str(value.get("name") or "/".join(_format_value(one) for one in value.values()))
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of a file."""

    name: str
    file: Path
    # A ClusterSetup before parsing: it may refer to variables of the matrix.
    cluster: Any
    cluster_location: SourceLocation
    blocks: tuple[StepBlock, ...]
    # Claims of documents that the scenario tries.
    claims: tuple[Claim, ...] = ()
    catch: tuple[ScenarioOperation, ...] = ()
    variables: tuple[tuple[str, Any], ...] = ()
    matrix: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    exclude: tuple[Mapping[str, Any], ...] = ()
    seeds: tuple[int, ...] = (0,)
    order: Order = "in-order"
    settling: Settling = "after-each-step"
    timeout: float = 30.0
    deletion_timeout: float = 60.0
    namespace: str = "default"
    creates_namespace: bool = False
    # Why it is not played; empty if it is.
    skip: str = ""

    def list_cells(self) -> Iterator[MatrixCell]:
        """Yield every combination of the matrix that is not excluded."""
        names = [name for name, _ in self.matrix]
        for values in product(*(values for _, values in self.matrix)):
            cell = dict(zip(names, values, strict=True))
            if not any(all(cell.get(name) == value for name, value in one.items()) for one in self.exclude):
                yield MatrixCell(tuple(cell.items()))
