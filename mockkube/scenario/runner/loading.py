"""Load scenario files; every mistake is reported with file, line and remedy."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import SourceLocation, read
from mockkube.scenario.file_format import (
    API_VERSION,
    CHAINSAW,
    CHAINSAW_KIND,
    INTERLEAVING_PLAN_KIND,
    KIND,
    PLAN_KIND,
    ChainsawFile,
    ScenarioFile,
)
from mockkube.scenario.runner.catalogue import VERBS
from mockkube.scenario.scenario import ClusterSetup, Scenario, ScenarioOperation, StepBlock
from mockkube.scenario.yaml_lines import get_line, read_file, read_text

_BLOCK_SECTIONS: Final = ("try", "catch", "finally", "cleanup")
_DESCRIPTION_KEYS: Final = ("description", "name")
_BLOCK_FIELDS: Final = ("name", "description", "bindings", "timeouts", "skipDelete", "template", *_BLOCK_SECTIONS)
_CHAINSAW_FILES: Final = ("chainsaw-test.yaml", "chainsaw-test.yml")
_SUFFIXES: Final = (".yaml", ".yml")
_KIND_LINE: Final = re.compile(rb"""(?:^|[{,]\s*)["']?kind["']?:\s*["']?%b\b""" % KIND.encode(), re.MULTILINE)
_GROUP: Final = API_VERSION.partition("/")[0].encode()


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the scenario files of paths; a directory means every scenario file below it."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update((one, None) for one in _walk_yaml_files(path) if _holds_scenarios(one))
        elif path.exists():
            found[path] = None
        else:
            raise ScenarioError(f"{path}: there is no such file: give a scenario, or a directory of scenarios")
    if not found:
        shown = ", ".join(map(str, paths)) or "."
        raise ScenarioError(f"{shown}: no scenarios there: they begin with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
    return list(found)


def _walk_yaml_files(directory: Path) -> Iterator[Path]:
    """Yield the YAML files below a directory in order, without hidden directories such as `.venv`."""
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(_SUFFIXES))


def _holds_scenarios(path: Path) -> bool:
    """Return whether a file holds scenarios: plans, manifests and charts may lie beside them."""
    try:
        text = path.read_bytes()
    except OSError:
        return False  # a link that leads nowhere
    # A search in the text is much faster than parsing every YAML file below a directory.
    ours = _GROUP in text and _KIND_LINE.search(text) is not None
    return ours or path.name in _CHAINSAW_FILES or CHAINSAW.encode() in text


def load(path: Path) -> list[Scenario]:
    """Return the scenarios of a file; ScenarioError for the first mistake."""
    return list(_load_documents(read_file(path), path))


def parse(text: str, path: Path = Path("scenario.yaml")) -> list[Scenario]:
    """Return the scenarios of a text; `path` names it, and its directory is where the files of its steps are."""
    return list(_load_documents(read_text(text, str(path)), path))


def _load_documents(documents: Sequence[Any], path: Path) -> Iterator[Scenario]:
    """Yield the scenarios of parsed documents."""
    if not documents:
        raise ScenarioError(f"{path}: empty: begin it with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
    for document in documents:
        at = SourceLocation(str(path), get_line(document))
        if not isinstance(document, Mapping):
            raise at.error(f"not a mapping: begin it with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
        type_meta = document.get("apiVersion"), document.get("kind")
        if type_meta == (API_VERSION, KIND):
            yield _load_scenario(document, at, path)
        elif type_meta == (CHAINSAW, CHAINSAW_KIND):
            yield _load_chainsaw_test(document, at, path)
        elif type_meta == (API_VERSION, PLAN_KIND):
            raise ScenarioError(f"{path}: a rollout plan, not a scenario: explore it with 'mockkube explore {path}'")
        elif type_meta == (API_VERSION, INTERLEAVING_PLAN_KIND):
            command = f"mockkube explore {path} --interleavings"
            raise ScenarioError(f"{path}: an interleaving plan, not a scenario: explore it with '{command}'")
        else:
            given = " ".join(map(str, type_meta))
            raise at.error(f"{given} is no scenario: give {API_VERSION} {KIND}, or {CHAINSAW} Test")


def _load_scenario(document: Any, at: SourceLocation, path: Path) -> Scenario:
    """Return a scenario of our own format."""
    file = read(ScenarioFile, document, at)
    spec = file.spec
    place = at.child(document, "spec")
    cluster_place = place.child(document["spec"], "cluster")
    # Only to report mistakes: variables are not bound yet, so the result is thrown away.
    read(ClusterSetup, spec.cluster, cluster_place)
    return Scenario(
        name=file.metadata.name,
        file=path,
        claims=file.list_claims(),
        cluster=spec.cluster,
        cluster_location=cluster_place,
        blocks=_read_blocks(document["spec"]["steps"], place.child(document["spec"], "steps")),
        catch=read_operations(spec.catch, document["spec"], "catch", place),
        variables=tuple(spec.vars.items()),
        matrix=tuple(spec.matrix.items()),
        exclude=spec.exclude,
        seeds=spec.seeds,
        order=spec.order,
        settling=spec.settling,
        timeout=spec.timeout,
        namespace=spec.namespace,
        creates_namespace=spec.namespace != "default",
        skip=spec.skip,
    )


def _load_chainsaw_test(document: Any, at: SourceLocation, path: Path) -> Scenario:
    """Return a chainsaw test as a scenario."""
    file = read(ChainsawFile, document, at)
    spec = file.spec
    place = at.child(document, "spec")
    return Scenario(
        name=file.metadata.name,
        file=path,
        cluster={"nodes": 1},
        cluster_location=place,
        blocks=_read_blocks(document["spec"]["steps"], place.child(document["spec"], "steps")),
        catch=read_operations(spec.catch, document["spec"], "catch", place),
        variables=tuple((one.name, one.value) for one in spec.bindings),
        timeout=spec.timeouts.assert_,
        deletion_timeout=spec.timeouts.delete,
        # chainsaw creates a namespace for each test; 63 characters are the limit of a DNS label.
        namespace=spec.namespace or f"chainsaw-{file.metadata.name}"[:63].rstrip("-"),
        creates_namespace=True,
        skip="the test says so" if spec.skip else "",
    )


def _read_blocks(steps: Any, at: SourceLocation) -> tuple[StepBlock, ...]:
    """Return the blocks of a list of steps; a step outside of a block becomes a block."""
    if not steps:
        raise at.error("no steps: give at least one")
    return tuple(_read_block(steps[index], at.child(steps, index), index) for index in range(len(steps)))


def _read_block(node: Any, at: SourceLocation, index: int) -> StepBlock:
    if not isinstance(node, Mapping):
        raise at.error(f"{str(node)[:60]!r} is not a step: give a verb with its arguments, like 'apply: ...'")
    if not any(part in node for part in _BLOCK_SECTIONS):
        one = _read_operation(node, at)
        return StepBlock(one.description or one.verb, (one,))
    for key in node:
        if key not in _BLOCK_FIELDS:
            raise at.child(node, key).error(f"unknown field in a block: known are {', '.join(_BLOCK_FIELDS)}")
    bindings = tuple((one["name"], one["value"]) for one in node.get("bindings") or ())
    ending = (*_read_section(node, "finally", at), *_read_section(node, "cleanup", at))
    name = str(node.get("name") or node.get("description") or f"step {index + 1}")
    return StepBlock(name, _read_section(node, "try", at), _read_section(node, "catch", at), ending, bindings)


def _read_section(node: Any, key: str, at: SourceLocation) -> tuple[ScenarioOperation, ...]:
    return read_operations(node.get(key) or (), node, key, at)


def read_operations(nodes: Sequence[Any], parent: Any, key: str, at: SourceLocation) -> tuple[ScenarioOperation, ...]:
    """Return the operations of a list of steps, the value of `key` in `parent`."""
    below = at.child(parent, key)
    return tuple(_read_operation(node, below.child(nodes, index)) for index, node in enumerate(nodes))


def _read_operation(node: Any, at: SourceLocation) -> ScenarioOperation:
    """Return one operation; its arguments are parsed to find mistakes."""
    if not isinstance(node, Mapping):
        raise at.error(f"{str(node)[:60]!r} is not a step: give a verb with its arguments, like 'apply: ...'")
    verbs = [key for key in node if key not in _DESCRIPTION_KEYS]
    if len(verbs) != 1:
        problem = f"{', '.join(verbs)} at once" if verbs else "no verb"
        raise at.error(f"{problem}: give each step a list item of its own, with one of {', '.join(VERBS)}")
    [verb] = verbs
    if verb not in VERBS:
        close = get_close_matches(verb, VERBS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(VERBS)}"
        raise at.child(node, verb).error(f"no step is called so: {remedy}")
    place = at.child(node, verb)
    read(VERBS[verb], node[verb], place)
    return ScenarioOperation(verb, node[verb], place, str(node.get("description") or node.get("name") or ""))
