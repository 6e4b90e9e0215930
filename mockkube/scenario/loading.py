"""Load scenario files; every mistake is reported with file, line and remedy."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from mockkube.scenario.catalogue import VERBS
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Place, read
from mockkube.scenario.located import line_of, read_file, read_text
from mockkube.scenario.scenario import Block, ClusterSetup, Operation, Scenario
from mockkube.scenario.written import (
    API_VERSION,
    CHAINSAW,
    CHAINSAW_KIND,
    KIND,
    PLAN_KIND,
    ChainsawFile,
    ScenarioFile,
)

_BLOCK: Final = ("try", "catch", "finally", "cleanup")
_BESIDE: Final = ("description", "name")
_IN_A_BLOCK: Final = ("name", "description", "bindings", "timeouts", "skipDelete", "template", *_BLOCK)
_CHAINSAW_FILES: Final = ("chainsaw-test.yaml", "chainsaw-test.yml")
_SUFFIXES: Final = (".yaml", ".yml")
_KIND_LINE: Final = re.compile(rb"""(?:^|[{,]\s*)["']?kind["']?:\s*["']?%b\b""" % KIND.encode(), re.MULTILINE)
_GROUP: Final = API_VERSION.partition("/")[0].encode()


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the scenario files of paths; a directory means every scenario file below it."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update((one, None) for one in _files_below(path) if _holds_scenarios(one))
        elif path.exists():
            found[path] = None
        else:
            raise ScenarioError(f"{path}: there is no such file: give a scenario, or a directory of scenarios")
    if not found:
        shown = ", ".join(map(str, paths)) or "."
        raise ScenarioError(f"{shown}: no scenarios there: they begin with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
    return list(found)


def _files_below(directory: Path) -> Iterator[Path]:
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
    return list(_scenarios(read_file(path), path))


def parse(text: str, path: Path = Path("scenario.yaml")) -> list[Scenario]:
    """Return the scenarios of a text; `path` names it, and its directory is where the files of its steps are."""
    return list(_scenarios(read_text(text, str(path)), path))


def _scenarios(documents: Sequence[Any], path: Path) -> Iterator[Scenario]:
    """Yield the scenarios of parsed documents."""
    if not documents:
        raise ScenarioError(f"{path}: empty: begin it with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
    for document in documents:
        at = Place(str(path), line_of(document))
        if not isinstance(document, Mapping):
            raise at.error(f"not a mapping: begin it with 'apiVersion: {API_VERSION}', 'kind: {KIND}'")
        type_meta = document.get("apiVersion"), document.get("kind")
        if type_meta == (API_VERSION, KIND):
            yield _own(document, at, path)
        elif type_meta == (CHAINSAW, CHAINSAW_KIND):
            yield _chainsaw(document, at, path)
        elif type_meta == (API_VERSION, PLAN_KIND):
            raise ScenarioError(f"{path}: a rollout plan, not a scenario: explore it with 'mockkube explore {path}'")
        else:
            given = " ".join(map(str, type_meta))
            raise at.error(f"{given} is no scenario: give {API_VERSION} {KIND}, or {CHAINSAW} Test")


def _own(document: Any, at: Place, path: Path) -> Scenario:
    """Return a scenario of our own format."""
    file = read(ScenarioFile, document, at)
    spec = file.spec
    place = at.of(document, "spec")
    cluster_place = place.of(document["spec"], "cluster")
    # Only to report mistakes: variables are not bound yet, so the result is thrown away.
    read(ClusterSetup, spec.cluster, cluster_place)
    return Scenario(
        name=file.metadata.name,
        file=path,
        claims=file.read_claims(),
        cluster=spec.cluster,
        cluster_place=cluster_place,
        blocks=_blocks(document["spec"]["steps"], place.of(document["spec"], "steps")),
        catch=_operations(spec.catch, document["spec"], "catch", place),
        variables=tuple(spec.vars.items()),
        matrix=tuple(spec.matrix.items()),
        exclude=spec.exclude,
        seeds=spec.seeds,
        order=spec.order,
        settling=spec.settling,
        timeout=spec.timeout,
        namespace=spec.namespace,
        make_namespace=spec.namespace != "default",
        skip=spec.skip,
    )


def _chainsaw(document: Any, at: Place, path: Path) -> Scenario:
    """Return a chainsaw test as a scenario."""
    file = read(ChainsawFile, document, at)
    spec = file.spec
    place = at.of(document, "spec")
    return Scenario(
        name=file.metadata.name,
        file=path,
        cluster={"nodes": 1},
        cluster_place=place,
        blocks=_blocks(document["spec"]["steps"], place.of(document["spec"], "steps")),
        catch=_operations(spec.catch, document["spec"], "catch", place),
        variables=tuple((one.name, one.value) for one in spec.bindings),
        timeout=spec.timeouts.assert_,
        deletion_timeout=spec.timeouts.delete,
        # chainsaw creates a namespace for each test; 63 characters are the limit of a DNS label.
        namespace=spec.namespace or f"chainsaw-{file.metadata.name}"[:63].rstrip("-"),
        make_namespace=True,
        skip="the test says so" if spec.skip else "",
    )


def _blocks(steps: Any, at: Place) -> tuple[Block, ...]:
    """Return the blocks of a list of steps; a step outside of a block becomes a block."""
    if not steps:
        raise at.error("no steps: give at least one")
    return tuple(_block(steps[index], at.of(steps, index), index) for index in range(len(steps)))


def _block(node: Any, at: Place, index: int) -> Block:
    if not isinstance(node, Mapping):
        raise at.error(f"{str(node)[:60]!r} is not a step: give a verb with its arguments, like 'apply: ...'")
    if not any(part in node for part in _BLOCK):
        one = _operation(node, at)
        return Block(one.description or one.verb, (one,))
    for key in node:
        if key not in _IN_A_BLOCK:
            raise at.of(node, key).error(f"unknown field in a block: known are {', '.join(_IN_A_BLOCK)}")
    bindings = tuple((one["name"], one["value"]) for one in node.get("bindings") or ())
    ending = (*_part(node, "finally", at), *_part(node, "cleanup", at))
    name = str(node.get("name") or node.get("description") or f"step {index + 1}")
    return Block(name, _part(node, "try", at), _part(node, "catch", at), ending, bindings)


def _part(node: Any, key: str, at: Place) -> tuple[Operation, ...]:
    return _operations(node.get(key) or (), node, key, at)


def _operations(nodes: Sequence[Any], parent: Any, key: str, at: Place) -> tuple[Operation, ...]:
    below = at.of(parent, key)
    return tuple(_operation(node, below.of(nodes, index)) for index, node in enumerate(nodes))


def _operation(node: Any, at: Place) -> Operation:
    """Return one operation; its arguments are parsed to find mistakes."""
    if not isinstance(node, Mapping):
        raise at.error(f"{str(node)[:60]!r} is not a step: give a verb with its arguments, like 'apply: ...'")
    verbs = [key for key in node if key not in _BESIDE]
    if len(verbs) != 1:
        problem = f"{', '.join(verbs)} at once" if verbs else "no verb"
        raise at.error(f"{problem}: give each step a list item of its own, with one of {', '.join(VERBS)}")
    [verb] = verbs
    if verb not in VERBS:
        close = get_close_matches(verb, VERBS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(VERBS)}"
        raise at.of(node, verb).error(f"no step is called so: {remedy}")
    place = at.of(node, verb)
    read(VERBS[verb], node[verb], place)
    return Operation(verb, node[verb], place, str(node.get("description") or node.get("name") or ""))
