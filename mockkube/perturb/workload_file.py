"""Load a workload: the manifests of a directory, and its `perturb.yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import USUALLY_IGNORED, IgnoredPath
from mockkube.perturb.planning.catalogue import KINDS
from mockkube.perturb.workload import PATIENCE_SECONDS, STEP_SECONDS_MAX, ForbiddenState, ProcessSpec, Workload
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Seconds, SourceLocation, Tree, read
from mockkube.scenario.file_format import API_VERSION
from mockkube.scenario.runner.cluster_setup import make_real_configuration
from mockkube.scenario.runner.loading import read_operations
from mockkube.scenario.scenario import ClusterSetup, ScenarioOperation
from mockkube.scenario.yaml_lines import read_file

KIND: Final = "PerturbWorkload"
FILE_NAME: Final = "perturb.yaml"
_SUFFIXES: Final = (".json", ".yaml", ".yml")
# Objects that are applied before the controller starts, which needs them to watch its kinds.
_SETUP_KINDS: Final = ("CustomResourceDefinition", "Namespace")
_CRDS_ESTABLISHED: Final = {
    "kind": "CustomResourceDefinition",
    "for": {"condition": {"name": "Established"}},
    "timeout": "10s",
}


@dataclass(frozen=True)
class ProcessFields:
    """One process of the controller, or several alike."""

    name: Annotated[str, "its name, also that of its user"]
    command: Annotated[tuple[str, ...], "program and arguments; {kubeconfig} and {url} are those of the cluster"]
    environment: Annotated[Mapping[str, str], "variables besides KUBECONFIG"] = field(default_factory=dict)
    replicas: Annotated[int, "how many of it run, with leader election of their own"] = 1


@dataclass(frozen=True)
class WorkloadSpec:
    """Specification of a workload."""

    cluster: Annotated[Tree | None, "the cluster, as in scenarios; by default one node and all components"] = None
    setup: Annotated[tuple[Tree, ...], "steps before the processes start"] = ()
    processes: Annotated[tuple[ProcessFields, ...], "the processes, instead of the command line"] = ()
    steps: Annotated[tuple[Tree, ...], "steps of the user, instead of applying the manifests file by file"] = ()
    invariants: Annotated[tuple[Tree, ...], "checks that hold at the end of every run"] = ()
    never: Annotated[tuple[Tree, ...], "partial objects that no object may match at any time"] = ()
    ignore: Annotated[tuple[str, ...], "fields to leave out of comparisons: configmaps/web: data.time"] = ()
    namespace: Annotated[str, "where objects are that do not say it"] = "default"
    quiet: Annotated[Seconds | None, "how long nothing happens before a step counts as done; learnt by default"] = None
    patience: Annotated[Seconds, "how long the controller may rest before it has to be done"] = PATIENCE_SECONDS
    timeout: Annotated[Seconds, "how long a step may take"] = STEP_SECONDS_MAX
    perturbations: Annotated[tuple[str, ...], "kinds of perturbations to try; all by default"] = ()


@dataclass(frozen=True)
class WorkloadMetadata:
    """Metadata of a workload file."""

    name: Annotated[str, "the name of the workload"] = ""


@dataclass(frozen=True, kw_only=True)
class WorkloadFile:
    """A workload: apiVersion mockkube.dev/v1alpha1, kind PerturbWorkload."""

    api_version: Annotated[str, API_VERSION]
    kind: Annotated[str, KIND]
    metadata: Annotated[WorkloadMetadata, "its name"] = field(default_factory=WorkloadMetadata)
    spec: Annotated[WorkloadSpec, "what is played"] = field(default_factory=WorkloadSpec)


def load_workload(directory: Path, command: Sequence[str], chosen_steps: frozenset[int] = frozenset()) -> Workload:
    """Return the workload of a directory; ConfigurationError names file, line and remedy of a mistake."""
    try:
        workload = _load(directory, tuple(command))
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None
    if unknown := sorted(chosen_steps - set(range(1, len(workload.steps) + 1))):
        raise ConfigurationError(f"--steps {unknown[0]}: the workload has the steps 1 to {len(workload.steps)}")
    return replace(workload, chosen_steps=chosen_steps)


def _load(directory: Path, command: tuple[str, ...]) -> Workload:
    if not directory.is_dir():
        raise ScenarioError(f"{directory}: no such directory: give one with manifests")
    path = directory / FILE_NAME
    document: Any = read_file(path)[0] if path.exists() else {"spec": {}}
    location = SourceLocation(str(path))
    spec = read(WorkloadFile, document, location).spec if path.exists() else WorkloadSpec()
    _check_kinds(spec.perturbations, location)
    setup, steps = _list_manifest_steps(directory)
    given, below = document.get("spec") or {}, location.child(document, "spec")
    own_setup = read_operations(spec.setup, given, "setup", below)
    return Workload(
        directory=directory,
        configuration=make_real_configuration(_read_cluster(spec.cluster, below)),
        processes=_list_processes(spec.processes, command, location),
        setup=own_setup or setup,
        steps=read_operations(spec.steps, given, "steps", below) or steps,
        invariants=read_operations(spec.invariants, given, "invariants", below),
        never=tuple(ForbiddenState(dict(one)) for one in spec.never if isinstance(one, Mapping)),
        ignored=(*(_parse_ignored(text, below) for text in spec.ignore), *USUALLY_IGNORED),
        namespace=spec.namespace,
        quiet_seconds=spec.quiet,
        patience_seconds=spec.patience,
        step_seconds_max=spec.timeout,
        kinds=spec.perturbations,
    )


def _check_kinds(kinds: Sequence[str], location: SourceLocation) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise location.error(f"spec.perturbations: {kind!r} is none of them: known are {', '.join(KINDS)}")


def _read_cluster(node: Any, location: SourceLocation) -> ClusterSetup:
    setup = read(ClusterSetup, node or {}, replace(location, bindings={}))
    return setup if node is not None else replace(setup, nodes=1)


def _list_processes(
    fields: Sequence[ProcessFields], command: tuple[str, ...], location: SourceLocation
) -> tuple[ProcessSpec, ...]:
    if command and fields:
        raise ScenarioError(f"{location.file}: spec.processes besides a command: give one of both")
    if command:
        return (ProcessSpec("controller", command),)
    if not fields:
        raise ScenarioError("no controller: give its command after --, or spec.processes in perturb.yaml")
    return tuple(
        ProcessSpec(f"{one.name}-{index}" if one.replicas > 1 else one.name, one.command, one.environment)
        for one in fields
        for index in range(one.replicas)
    )


def _list_manifest_steps(directory: Path) -> tuple[tuple[ScenarioOperation, ...], tuple[ScenarioOperation, ...]]:
    """Return steps that apply the manifests of a directory: what the controller needs first, the rest file by file."""
    needed: list[ScenarioOperation] = []
    steps: list[ScenarioOperation] = []
    for file in sorted(directory.iterdir()):
        if file.suffix not in _SUFFIXES or file.name == FILE_NAME:
            continue
        documents = [one for one in read_file(file) if isinstance(one, Mapping) and "kind" in one]
        first = [one for one in documents if one["kind"] in _SETUP_KINDS]
        rest = [one for one in documents if one["kind"] not in _SETUP_KINDS]
        location = SourceLocation(str(file))
        if first:
            needed.append(ScenarioOperation("apply", {"resource": first}, location))
        if rest:
            steps.append(ScenarioOperation("apply", {"resource": rest}, location, f"apply {file.name}"))
    if any(one["kind"] == _SETUP_KINDS[0] for step in needed for one in step.arguments["resource"]):
        needed.append(ScenarioOperation("wait", _CRDS_ESTABLISHED, SourceLocation(str(directory))))
    return tuple(needed), tuple(steps)


def _parse_ignored(text: str, location: SourceLocation) -> IgnoredPath:
    where, colon, path = text.partition(":")
    if not colon or not path.strip():
        raise location.error(f"ignore: {text!r} has no path: write it like 'configmaps/web: data.time', or 'pods: *'")
    resource, _, name = where.strip().partition("/")
    return IgnoredPath(resource, name or "*", path.strip())
