"""`mockkube eval`: evaluate tolerations, node selectors, versions and CEL expressions as a component would."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from mockkube.api.decoding.codec import DecodingError
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cli.parameters import (
    component_options,
    parse_labels,
    parse_taint,
    read_documents,
)
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.capabilities import Capabilities
from mockkube.proposals import batch_evaluation, kep_5500, kep_5721
from mockkube.proposals.evaluation import evaluate_selector, evaluate_tolerations
from mockkube.proposals.scheduling_fields import LocatedValue, node_affinity, pod_spec, volume_selector

_AFFINITY: Final = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
_TAINT: Final = click.option(
    "--taint", "taints", multiple=True, metavar="KEY=VALUE:EFFECT", help="A taint to ask about. May be repeated."
)
_OUTPUT: Final = output_option("table", "json")

Result = dict[str, Any]


@click.group(invoke_without_command=True, short_help="Ask what an expression, version, toleration or selector says.")
@click.option("--rows", "table", metavar="FILE", help="Answer every row of a JSON file from its inputs alone.")
@click.pass_context
def command(context: click.Context, table: str | None) -> Exit | None:
    """Ask what an expression, a version, a toleration or a node selector says.

    The answer is computed by the code that serves objects and places pods. The exit code is 1 for what a server would
    refuse, 2 for a question that cannot be read.
    """
    if context.invoked_subcommand is not None:
        if table is not None:
            raise click.UsageError("--rows: it answers a file, not a command: leave one out")
        return None
    if table is None:
        raise click.UsageError(f"nothing to answer: give one of {', '.join(command.commands)}, or --rows FILE")
    click.echo(json.dumps(_evaluate_rows(table), indent=1))
    return Exit.OK


def _evaluate_rows(path: str) -> Result:
    try:
        with click.open_file(path, "rb") as file:
            document = json.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}: give a readable file, --rows") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: not a mapping of lists of rows, like {{'compare': [{{'a': .., 'b': ..}}]}}")
    try:
        return batch_evaluation.evaluate_document(document)
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path}: a row lacks an input, or has one of another type: {error}") from None


@command.command("cel", short_help="Compile an expression, and evaluate it on taints.")
@click.argument("expression")
@_TAINT
@component_options
@_OUTPUT
def cel(expression: str, taints: tuple[str, ...], output: str, caps: Capabilities) -> Exit:
    """Compile an expression over `taint`, and evaluate it on taints: verdict, type, costs, results."""
    row = {"expr": expression, "evals": [{"taint": parse_taint(taint)} for taint in taints]}
    [answer] = batch_evaluation.evaluate_document({"expressions": [row]})["expressions"]
    answer["gate"] = {"name": kep_5500.GATE, "enabled": caps.enabled(kep_5500.GATE)}
    _print(answer, output, _expression_lines)
    return Exit.OK if answer["admitted"] else Exit.FAILED


def _expression_lines(answer: Result) -> Iterable[tuple[str, ...]]:
    yield "compiles", "yes" if answer["compile"]["ok"] else f"no: {answer['compile']['error']}"
    yield "type", answer["type"] or "-"
    cost = answer["estimated_cost"]
    yield "estimated cost", f"{cost['min']} to {cost['max']}" if cost else "-"
    yield "admitted", "yes" if answer["admitted"] else "no: " + "; ".join(answer["admission_errors"])
    yield answer["gate"]["name"], "on" if answer["gate"]["enabled"] else "off: a component would not evaluate it"
    for one in answer["evals"]:
        result = f"error: {one['error']}" if one["error"] else json.dumps(one["result"])
        yield f"taint {_format_taint(one['taint'])}", f"{result} (cost {one['actual_cost']})"


@command.command("semver", short_help="Compare two versions as SemverGt, SemverLt and SemverEq do.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@component_options
@_OUTPUT
def semver(first: str, second: str, output: str, caps: Capabilities) -> Exit:
    """Compare two versions, read tolerantly: A is the node's, B the one asked for."""
    inputs = {"parse": [{"input": first}, {"input": second}], "compare": [{"a": first, "b": second}]}
    answers = batch_evaluation.evaluate_document(inputs)
    gate = {"name": kep_5721.GATE, "enabled": caps.enabled(kep_5721.GATE)}
    result = {**answers["compare"][0], "parsed": answers["parse"], "gate": gate}
    _print(result, output, _version_lines)
    return Exit.OK if result["cmp"] is not None else Exit.FAILED


def _version_lines(answer: Result) -> Iterable[tuple[str, ...]]:
    for one in answer["parsed"]:
        yield one["input"], one["parsed"] or f"no version: {one['error']}"
    for operator, name in (("SemverGt", "gt"), ("SemverLt", "lt"), ("SemverEq", "eq")):
        yield operator, "-" if answer[name] is None else json.dumps(answer[name])
    yield answer["gate"]["name"], "on" if answer["gate"]["enabled"] else "off: a component would not compare"


@command.command("toleration", short_help="Judge tolerations, and ask which of them tolerates a taint.")
@click.argument("file")
@_TAINT
@component_options
@_OUTPUT
def toleration(file: str, taints: tuple[str, ...], output: str, caps: Capabilities) -> Exit:
    """Judge the tolerations in FILE (one, a list, or an object with pods), and ask which tolerates a taint."""
    given = [one for document in read_documents(file) for one in _find_tolerations(document, file)]
    try:
        answer = evaluate_tolerations(given, [parse_taint(taint) for taint in taints], caps)
    except DecodingError:
        raise ConfigurationError(f"{file}: a field of a toleration has the wrong type") from None
    _print(answer, output, _toleration_lines)
    return Exit.OK if answer["valid"] else Exit.FAILED


def _find_tolerations(document: Any, file: str) -> list[Any]:
    if isinstance(document, Mapping) and "kind" in document:
        spec = pod_spec(document)
        document = None if spec is None else spec.value.get("tolerations") or []
    found = [document] if isinstance(document, Mapping) else document
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise ConfigurationError(f"{file}: no tolerations: give one, a list, or an object that is or makes pods")
    return found


def _toleration_lines(answer: Result) -> Iterable[tuple[str, ...]]:
    yield "valid", "yes" if answer["valid"] else "no: " + "; ".join(answer["errors"])
    for one in answer["taints"]:
        yield f"taint {_format_taint(one['taint'])}", "tolerated" if one["tolerated"] else "not tolerated"
        for i, toleration in enumerate(one["by"]):
            yield (
                f"  tolerations[{i}]",
                "matches" if toleration["matches"] else f"does not match: {toleration['reason']}",
            )


@command.command("selector", short_help="Judge node affinity, and ask whether a node fits.")
@click.argument("file")
@click.option("--labels", "labels", multiple=True, metavar="KEY=VALUE,...", help="The labels of the node.")
@click.option("--node-name", default="", metavar="NAME", help="The name of the node.")
@component_options
@_OUTPUT
def selector(file: str, labels: tuple[str, ...], node_name: str, output: str, caps: Capabilities) -> Exit:
    """Judge the node affinity in FILE (terms, an affinity, a pod, a volume), and ask whether a node fits."""
    found = [_find_affinity(document, file) for document in read_documents(file)]
    if len(found) != 1:
        raise ConfigurationError(f"{file}: {len(found)} documents: give one")
    answer = _evaluate_affinity(found[0], parse_labels(labels), node_name, caps, file)
    _print(answer, output, _affinity_lines)
    return Exit.OK if answer["valid"] else Exit.FAILED


def _evaluate_affinity(
    affinity: Any, labels: Mapping[str, str], node_name: str, caps: Capabilities, file: str
) -> Result:
    try:
        return evaluate_selector(affinity, labels, node_name, caps)
    except DecodingError:
        raise ConfigurationError(f"{file}: a field of the node affinity has the wrong type") from None


def _find_affinity(document: Any, file: str) -> Mapping[str, Any]:
    """Return the node affinity of a document: terms, a selector, an affinity, a pod or a volume."""
    if isinstance(document, list):
        return {_AFFINITY[0]: {"nodeSelectorTerms": document}}
    if isinstance(document, Mapping):
        if "kind" in document:
            return _affinity_of_object(document)
        if "matchExpressions" in document or "matchFields" in document:
            return {_AFFINITY[0]: {"nodeSelectorTerms": [document]}}
        if "nodeSelectorTerms" in document:
            return {_AFFINITY[0]: document}
        affinity = document.get("nodeAffinity", document)
        if isinstance(affinity, Mapping) and any(name in affinity for name in _AFFINITY):
            return affinity
    raise ConfigurationError(f"{file}: no node affinity: give terms, a node selector, an affinity, a pod or a volume")


def _affinity_of_object(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    if obj["kind"] == "PersistentVolume":
        required = volume_selector(obj).value
        return {_AFFINITY[0]: required} if required else {}
    spec: LocatedValue | None = pod_spec(obj)
    return {} if spec is None else dict(node_affinity(spec).value)


def _affinity_lines(answer: Result) -> Iterable[tuple[str, ...]]:
    yield "valid", "yes" if answer["valid"] else "no: " + "; ".join(answer["errors"])
    yield "required", "satisfied" if answer["match"] else "not satisfied"
    yield "score", str(answer["score"])
    for error in answer["unreadable"]:
        yield "term ignored", error


def _format_taint(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint["value"] else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _print(answer: Result, output: str, lines: Any) -> None:
    if output == "json":
        click.echo(json.dumps(answer, indent=2))
        return
    pairs = list(lines(answer))
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        click.echo(f"{name.ljust(width)}   {text}")
