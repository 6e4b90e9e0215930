"""`mockkube scan`: find objects that break without a gate, or at an older version."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.live_cluster import LiveCluster, kubeconfig_paths, require_listener
from mockkube.cli.options import output_option
from mockkube.cli.parameters import build_capabilities, parse_gate_flags, parse_version_flag, read_documents
from mockkube.client import kubeconfig
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates, gate_registry
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.loading import default_trains
from mockkube.proposals.scan import COMPONENTS, RESOURCES, Unscannable, scan_objects
from mockkube.proposals.server_impact import ScanFinding
from mockkube.runtime.clock import RealClock

_MANIFESTS: Final = (".yaml", ".yml", ".json")
_COLUMNS: Final = ("component", "kind", "namespace", "name", "field", "reason")

Objects = list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class GateChange:
    """Gates that change, the version to go back to, and the settings that stay."""

    version: Version
    to: Version
    gates: Mapping[str, bool]
    others: Mapping[str, bool]

    def before(self, component: str) -> Capabilities:
        """Return the component's capabilities before the change."""
        given = {**self.others, **{gate: not value for gate, value in self.gates.items()}}
        return self._capabilities(self.version, self._known_gates(given, self.version, component), component)

    def after(self, component: str) -> Capabilities:
        """Return the component's capabilities after the change; gates unknown to an older version are left out."""
        given = {**self.others, **self.gates}
        known = self._known_gates(given, self.to, component) if self.to != self.version else given
        return self._capabilities(self.to, known, component)

    def _capabilities(self, version: Version, gates: Mapping[str, bool], component: str) -> Capabilities:
        return build_capabilities(version, gates, component=component, flag=f"--gate ({component} {version})")

    def _known_gates(self, gates: Mapping[str, bool], version: Version, component: str) -> dict[str, bool]:
        histories = gate_registry(version, default_trains(), component).histories
        aliases = gate_registry(version, default_trains(), component).aliases
        if version == self.version:
            return dict(gates)
        return {gate: value for gate, value in gates.items() if aliases.get(gate, gate) in histories}


@click.command(short_help="Find what breaks without a gate, or at an older version.")
@click.option("-f", "--filename", "files", multiple=True, metavar="PATH", help="Manifests instead of a cluster.")
@click.option("--name", metavar="NAME", help="The cluster of mockkube to scan, by its name.")
@click.option("--kubeconfig", metavar="PATH", help="The cluster to scan. [KUBECONFIG, or ~/.kube/config]")
@click.option("--context", metavar="NAME", help="The context in it. [the current one]")
@click.option("--gate", "gates", multiple=True, metavar="GATE", help="A gate that goes off. May be repeated.")
@click.option("--to", metavar="VERSION", help="The version that components go back to.")
@click.option(
    "--component", "components", multiple=True, type=click.Choice(COMPONENTS), help="Where it happens. [everywhere]"
)
@click.option("--version", metavar="VERSION", help="The version now. [the cluster's, or 1.36]")
@click.option(
    "--feature-gates", "others", multiple=True, metavar="GATES", help="Gates as they are set: A=true,B=false."
)
@output_option("table", "json", "yaml")
def command(components: tuple[str, ...], output: str, **options: Any) -> Exit:
    """Find the pods, templates, volumes and claims that break when a gate goes off or the version goes down.

    Each line names the object, the field, and what happens at which component. The exit code is 1 if anything breaks.
    """
    cluster = None if options["files"] else _connect(options)
    change = _build_change(options, cluster)
    objects = _read_cluster(cluster) if cluster else _read_files(options["files"])
    findings = scan(objects, change, components or COMPONENTS)
    _print(findings, len(objects), output)
    return Exit.FAILED if findings else Exit.OK


def _build_change(options: Mapping[str, Any], cluster: LiveCluster | None) -> GateChange:
    if not options["gates"] and not options["to"]:
        raise click.UsageError("nothing changes: give a gate that goes off, --gate, or a version to go back to, --to")
    now = options["version"] or (cluster.read_version() if cluster else str(DEFAULT))
    version = parse_version_flag(now)
    to = parse_version_flag(options["to"], "--to") if options["to"] else version
    gates: dict[str, bool] = {}
    for text in options["gates"]:
        gates |= parse_gate_flags([text if "=" in text else f"{text}=false"])
    others = {**_non_default_gates(cluster, version), **parse_gate_flags(options["others"], "--feature-gates")}
    return GateChange(version, to, gates, others)


def _non_default_gates(cluster: LiveCluster | None, version: Version) -> dict[str, bool]:
    """Return the gates of a cluster that differ from its version's defaults."""
    if cluster is None:
        return {}
    known, usual = gate_registry(version, default_trains()).histories, enabled_gates(version, trains=default_trains())
    return {gate: on for gate, on in cluster.read_gates().items() if gate in known and on != (gate in usual)}


def scan(objects: Sequence[Mapping[str, Any]], change: GateChange, components: Iterable[str]) -> list[ScanFinding]:
    """Return what breaks, object by object; raise ConfigurationError for an object that cannot be scanned."""
    changes = {name: (change.before(name), change.after(name)) for name in components}
    try:
        return scan_objects(objects, changes, RealClock().now())
    except Unscannable as error:
        raise ConfigurationError(str(error)) from None


def _connect(options: Mapping[str, Any]) -> LiveCluster:
    paths = kubeconfig_paths(options["kubeconfig"], options["name"], os.environ)
    if not any(path.exists() for path in paths):
        where = os.pathsep.join(map(str, paths))
        raise ConfigurationError(f"--kubeconfig: {where}: no such file: give one, or manifests with -f")
    try:
        config = kubeconfig.load_merged(paths, options["context"] or "")
        require_listener(config.server, options["context"] or kubeconfig.find_current_context(paths))
        return LiveCluster(config)
    except kubeconfig.KubeconfigError as error:
        raise ConfigurationError(f"--kubeconfig: {error}") from None


def _read_cluster(cluster: LiveCluster) -> Objects:
    return [obj for resource in RESOURCES for obj in cluster.list_objects(*resource)]


def _read_files(paths: Sequence[str]) -> Objects:
    return [
        obj
        for path in paths
        for file in _find_files(path)
        for found in read_documents(file)
        for obj in _find_objects(found, file)
    ]


def _find_files(path: str) -> list[str]:
    if path == "-" or not Path(path).is_dir():
        return [path]
    return [str(file) for file in sorted(Path(path).rglob("*")) if file.suffix in _MANIFESTS and file.is_file()]


def _find_objects(document: Any, file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the object of a document, or the items of a list."""
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise ConfigurationError(f"{file}: not a manifest: each document needs apiVersion and kind")
    if "items" in document and document["kind"].endswith("List"):
        for item in document["items"] or ():
            yield from _find_objects({**_item_type_meta(document), **item} if isinstance(item, Mapping) else item, file)
        return
    yield document


def _item_type_meta(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return apiVersion and kind of a list's items, which may leave them out."""
    kind = str(document["kind"]).removesuffix("List")
    return {"apiVersion": document.get("apiVersion"), "kind": kind} if kind else {}


def _print(findings: Sequence[ScanFinding], scanned: int, output: str) -> None:
    if output == "table":
        click.echo(
            _table(findings) if findings else f"Nothing breaks in {scanned} {'object' if scanned == 1 else 'objects'}."
        )
        return
    report = {"scanned": scanned, "findings": [asdict(one) for one in findings]}
    if output == "json":
        click.echo(json.dumps(report, indent=2))
        return
    import yaml

    click.echo(yaml.dump(report, sort_keys=False, width=1000), nl=False)


def _table(findings: Sequence[ScanFinding]) -> str:
    rows = [tuple(name.upper() for name in _COLUMNS)]
    rows += [tuple(" ".join(str(getattr(one, name)).split()) for name in _COLUMNS) for one in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
