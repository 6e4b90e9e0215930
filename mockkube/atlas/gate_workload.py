"""Workloads of gates: `conformance/gates/GATE.yaml`, and the reasons why the other gates have none."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import orjson

from mockkube.cluster.configuration.values import parse_version_up_to
from mockkube.explore.plans.actions import validate_action
from mockkube.explore.plans.plan import PAUSE_SECONDS, Action
from mockkube.explore.plans.plan_format import NodeEntry
from mockkube.features.versions import NEWEST, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Seconds, SourceLocation, Tree, read
from mockkube.scenario.yaml_lines import read_file

OTHERS_FILE: Final = "not-played.yaml"
_PAUSE: Final = Seconds(PAUSE_SECONDS)


@dataclass(frozen=True, slots=True)
class GateMetadata:
    """Metadata of a gate's workload."""

    name: Annotated[str, "the gate"]


@dataclass(frozen=True, slots=True)
class GateSpec:
    """Workload that uses the feature of a gate, with a description of the feature."""

    feature: Annotated[str, "what the gate does, in one sentence"]
    workload: Annotated[tuple[Tree, ...], "objects of users that use the feature"] = ()
    version: Annotated[str, "the version to run it in (default: chosen by the stages of the gate)"] = ""
    gates: Annotated[Mapping[str, bool], "other gates, of every component"] = field(default_factory=dict)
    together: Annotated[tuple[str, ...], "gates that are flipped together with it"] = ()
    nodes: Annotated[tuple[NodeEntry, ...], "the nodes"] = (NodeEntry(),)
    runtime_config: Annotated[Mapping[str, bool], "API versions to serve or not, like api/alpha"] = field(
        default_factory=dict
    )
    setup: Annotated[tuple[Tree, ...], "steps of the scenario language before the workload is created"] = ()
    do: Annotated[tuple[Tree, ...], "steps of the scenario language that use the feature"] = ()
    seconds: Annotated[Seconds, "pause after the workload was created, and after the steps"] = _PAUSE
    unobservable: Annotated[str, "why no workload can show what the gate does"] = ""


@dataclass(frozen=True, slots=True)
class GateFile:
    """Workload of a gate."""

    api_version: Annotated[Literal["mockkube.dev/v1alpha1"], "mockkube.dev/v1alpha1"]
    kind: Annotated[Literal["GateWorkload"], "GateWorkload"]
    metadata: Annotated[GateMetadata, "the gate"]
    spec: Annotated[GateSpec, "the workload"]


@dataclass(frozen=True, slots=True)
class OtherGates:
    """Gates that no simulated component reads, for one reason."""

    reason: Annotated[str, "why the gate changes nothing here"]
    gates: Annotated[tuple[str, ...], "the gates"]


@dataclass(frozen=True, slots=True)
class OthersFile:
    """Gates without a workload, by reason."""

    api_version: Annotated[Literal["mockkube.dev/v1alpha1"], "mockkube.dev/v1alpha1"]
    kind: Annotated[Literal["GatesNotPlayed"], "GatesNotPlayed"]
    groups: Annotated[tuple[OtherGates, ...], "the gates, by reason"]


@dataclass(frozen=True, slots=True)
class GateWorkload:
    """Workload that uses the feature of one gate."""

    gate: str
    feature: str
    workload: tuple[Any, ...]
    version: Version | None
    gates: Mapping[str, bool]
    together: tuple[str, ...]
    nodes: tuple[NodeEntry, ...]
    runtime_config: Mapping[str, bool]
    setup: tuple[Action, ...]
    actions: tuple[Action, ...]
    seconds: int
    unobservable: str


def load_workload(path: Path) -> GateWorkload:
    """Return the workload of a file; ScenarioError for the first mistake, with its place and the remedy."""
    document, at = _read_document(path)
    file = read(GateFile, document, at)
    spec, inside = file.spec, at.child(document, "spec")
    if file.metadata.name != path.stem:
        raise at.child(document, "metadata").error(f"the gate {file.metadata.name!r} belongs into a file of its name")
    if not (spec.workload or spec.setup or spec.do or spec.unobservable):
        raise inside.error("nothing uses the gate: give `workload`, `setup` or `do`, or why in `unobservable`")
    for part in ("setup", "do"):
        place = inside.child(document["spec"], part) if part in document["spec"] else inside
        for action in getattr(spec, part):
            validate_action(action, place)
    return GateWorkload(
        gate=file.metadata.name,
        feature=spec.feature,
        workload=tuple(_plain(obj) for obj in spec.workload),
        version=_read_version(spec.version, inside),
        gates=dict(spec.gates),
        together=spec.together,
        nodes=spec.nodes,
        runtime_config=dict(spec.runtime_config),
        setup=tuple(_plain(one) for one in spec.setup),
        actions=tuple(_plain(one) for one in spec.do),
        seconds=int(spec.seconds),
        unobservable=spec.unobservable,
    )


def load_workloads(folder: Path) -> Mapping[str, GateWorkload]:
    """Return the workloads of a folder by gate."""
    paths = sorted(path for path in folder.glob("*.yaml") if path.name != OTHERS_FILE)
    return {path.stem: load_workload(path) for path in paths}


def load_reasons(folder: Path) -> Mapping[str, str]:
    """Return why each of the other gates has no workload."""
    document, at = _read_document(folder / OTHERS_FILE)
    file = read(OthersFile, document, at)
    reasons: dict[str, str] = {}
    for group in file.groups:
        for gate in group.gates:
            if gate in reasons:
                raise at.error(f"{gate} is listed twice: keep one reason")
            reasons[gate] = group.reason
    return reasons


def _read_document(path: Path) -> tuple[Any, SourceLocation]:
    documents: Sequence[Any] = read_file(path)
    if len(documents) != 1:
        raise ScenarioError(f"{path}: {len(documents)} documents: give one")
    return documents[0], SourceLocation(str(path))


def _read_version(text: str, at: SourceLocation) -> Version | None:
    try:
        return parse_version_up_to(text, NEWEST) if text else None
    except ValueError as error:
        raise at.error(str(error)) from None


def _plain(value: Any) -> Any:
    """Return a value without the lines of its file, so that it can be sent to other processes."""
    return orjson.loads(orjson.dumps(value))
