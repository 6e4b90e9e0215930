"""Load a workload: the manifests of a directory, and its `perturb.yaml`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from mockkube.api.names import check_dns_label
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import USUALLY_IGNORED, IgnoredPath
from mockkube.perturb.planning.catalogue import KINDS
from mockkube.perturb.workload import (
    PATIENCE_SECONDS,
    STEP_SECONDS_MAX,
    ForbiddenState,
    KnownFinding,
    ProcessSpec,
    Workload,
)
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Seconds, SourceLocation, Tree, read
from mockkube.scenario.file_format import API_VERSION
from mockkube.scenario.runner.cluster_setup import make_real_configuration
from mockkube.scenario.runner.loading import read_operations
from mockkube.scenario.scenario import ClusterSetup, ScenarioOperation
from mockkube.scenario.yaml_lines import copy_without_lines, get_line, read_file

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
class KnownFields:
    """Findings that are right as they are."""

    perturbations: Annotated[tuple[str, ...], "identifiers, as findings have them; * stands for any text"]
    reason: Annotated[str, "why another state is right then"]


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
    known: Annotated[tuple[KnownFields, ...], "findings that are right as they are; they do not count"] = ()


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
    spec: Annotated[WorkloadSpec, "what is run"] = field(default_factory=WorkloadSpec)


def load_workload(directory: Path, command: Sequence[str], chosen_steps: frozenset[int] = frozenset()) -> Workload:
    """Return the workload of a directory; ConfigurationError names file, line and remedy of a mistake."""
    try:
        workload = _load(directory, tuple(command))
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None
    if not workload.steps:
        raise ConfigurationError(f"{directory}: nothing to do: give manifests, or {FILE_NAME} with spec.steps")
    if unknown := sorted(chosen_steps - set(range(1, len(workload.steps) + 1))):
        raise ConfigurationError(f"--steps {unknown[0]}: the workload has the steps 1 to {len(workload.steps)}")
    return replace(workload, chosen_steps=chosen_steps)


def _load(directory: Path, command: tuple[str, ...]) -> Workload:
    if not directory.is_dir():
        raise ScenarioError(f"{directory}: no such directory: give one with manifests")
    path = directory / FILE_NAME
    location = SourceLocation(str(path))
    document = _read_document(path, location) if path.exists() else {"spec": {}}
    spec = read(WorkloadFile, document, location).spec if path.exists() else WorkloadSpec()
    given, below = document.get("spec") or {}, location.child(document, "spec")
    _check_kinds(spec.perturbations, given, below)
    processes = _list_processes(spec.processes, command, given, below)
    has_own_steps = bool(spec.setup and spec.steps)
    setup, steps = ((), ()) if has_own_steps else _list_manifest_steps(directory)
    own_steps = read_operations(spec.steps, given, "steps", below)
    own_setup = read_operations(spec.setup, given, "setup", below)
    return Workload(
        directory=directory,
        configuration=make_real_configuration(_read_cluster(spec.cluster, below.child(given, "cluster"))),
        processes=processes,
        setup=own_setup or setup,
        steps=own_steps or steps,
        invariants=read_operations(spec.invariants, given, "invariants", below),
        never=tuple(_list_forbidden(given, below)),
        ignored=(*_list_ignored(spec.ignore, given, below), *USUALLY_IGNORED),
        namespace=spec.namespace,
        quiet_seconds=spec.quiet,
        patience_seconds=spec.patience,
        step_seconds_max=spec.timeout,
        kinds=spec.perturbations,
        known=tuple(_list_known(spec.known, given, below)),
    )


def _read_document(path: Path, location: SourceLocation) -> Mapping[str, Any]:
    """Return the only document of a workload file."""
    documents = read_file(path)
    head = f"begin it with 'apiVersion: {API_VERSION}', 'kind: {KIND}'"
    if not documents:
        raise location.error(f"empty: {head}")
    if len(documents) > 1:
        raise location.error(f"{len(documents)} documents: give one, and manifests in other files")
    [document] = documents
    if not isinstance(document, Mapping):
        raise location.error(f"not a mapping: {head}")
    if (document.get("apiVersion"), document.get("kind")) != (API_VERSION, KIND):
        raise location.error(f"{document.get('apiVersion')} {document.get('kind')} is no workload: {head}")
    return document


def _check_kinds(kinds: Sequence[str], given: Any, location: SourceLocation) -> None:
    for index, kind in enumerate(kinds):
        if kind not in KINDS:
            below = location.child(given, "perturbations").child(given["perturbations"], index)
            raise below.error(f"{kind!r} is no perturbation: known are {', '.join(KINDS)}")


def _list_known(fields: Sequence[KnownFields], given: Any, location: SourceLocation) -> Iterator[KnownFinding]:
    for index, one in enumerate(fields):
        if not one.perturbations or not one.reason.strip():
            below = location.child(given, "known").child(given["known"], index)
            raise below.error("give perturbations like 'lag/3-4/nodes', and the reason why their findings are right")
        yield KnownFinding(one.perturbations, one.reason)


def _list_forbidden(given: Any, location: SourceLocation) -> Iterator[ForbiddenState]:
    nodes = given.get("never") or ()
    for index, one in enumerate(nodes):
        if not isinstance(one, Mapping) or not one:
            below = location.child(given, "never").child(nodes, index)
            raise below.error("not a partial object: give one like {kind: ConfigMap, data: {size: '0'}}")
        yield ForbiddenState(copy_without_lines(one))


def _read_cluster(node: Any, location: SourceLocation) -> ClusterSetup:
    setup = read(ClusterSetup, node or {}, replace(location, bindings={}))
    return setup if node is not None else replace(setup, nodes=1)


def _list_processes(
    fields: Sequence[ProcessFields], command: tuple[str, ...], given: Any, location: SourceLocation
) -> tuple[ProcessSpec, ...]:
    if command and fields:
        raise location.child(given, "processes").error("besides a command after --: give one of both")
    if command:
        return (ProcessSpec("controller", command),)
    if not fields:
        raise ScenarioError("no controller: give its command after --, or spec.processes in perturb.yaml")
    for index, one in enumerate(fields):
        below = location.child(given, "processes").child(given["processes"], index)
        if errors := check_dns_label(one.name):
            raise below.error(f"name: {one.name!r}: {errors[0]}")
        if one.name in [other.name for other in fields[:index]]:
            raise below.error(f"name: {one.name!r} is given twice: give each process a name of its own")
        if not one.command or one.replicas < 1:
            raise below.error("replicas: give 1 or more" if one.command else "command: give a program")
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
        documents = read_file(file)
        for one in documents:
            if not isinstance(one, Mapping) or not one.get("kind") or not one.get("apiVersion"):
                line = get_line(one)
                raise SourceLocation(str(file), line).error("no object of Kubernetes: give apiVersion and kind")
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


def _list_ignored(texts: Sequence[str], given: Any, location: SourceLocation) -> Iterator[IgnoredPath]:
    for index, text in enumerate(texts):
        where, colon, path = text.partition(":")
        if not colon or not path.strip():
            below = location.child(given, "ignore").child(given["ignore"], index)
            raise below.error(f"{text!r} has no path: write it like 'configmaps/web: data.time', or 'pods: *'")
        resource, _, name = where.strip().partition("/")
        yield IgnoredPath(resource, name or "*", path.strip())
