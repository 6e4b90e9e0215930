"""Import of a cluster for commands: their common options, and the way from these to an import."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.options import Decorator
from mockkube.cli.parameters import parse_gate_flags, parse_version_flag
from mockkube.cluster.configuration.errors import ConfigurationError

if TYPE_CHECKING:
    from mockkube.api.json_objects import Object
    from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
    from mockkube.importing.cluster_import import ImportedCluster, ImportOptions

_SNAPSHOT_HEAD: Final = b'{"format":'
_OPTIONS: Final[tuple[Decorator, ...]] = (
    click.option("--kubeconfig", metavar="PATH", help="The cluster to import. [KUBECONFIG, or ~/.kube/config]"),
    click.option("--context", metavar="NAME", help="The context in it. [the current one]"),
    click.option("--name", metavar="NAME", help="The cluster of mockkube to import, by its name."),
    click.option("--version", metavar="VERSION", help="Version of the cluster. [as its objects say]"),
    click.option(
        "--feature-gates", "gates", multiple=True, metavar="GATES", help="Gates as they are set: A=true,B=false."
    ),
    click.option(
        "--webhooks",
        type=click.Choice(["stub", "keep", "drop"]),
        default="stub",
        show_default=True,
        help="What becomes of webhooks: a stub allows every request without a call.",
    ),
    click.option(
        "--secrets",
        type=click.Choice(["redact", "keep"]),
        default="redact",
        show_default=True,
        help="Replace the values of Secrets by placeholders.",
    ),
    click.option("--events", "keeps_events", is_flag=True, help="Keep events."),
    click.option("--leases", "keeps_leases", is_flag=True, help="Keep leases."),
    click.option("--managed-fields", "keeps_managed_fields", is_flag=True, help="Keep managedFields."),
)


def import_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an import to a command."""
    return reduce(lambda command, option: option(command), reversed(_OPTIONS), function)


def import_sources(sources: Iterable[str], options: dict[str, Any]) -> "ImportedCluster":
    """Import dumps, or the live cluster without one; raise UnreadableDumpError."""
    from mockkube.importing.cluster_import import import_objects
    from mockkube.importing.dump_files import read_dump

    paths = list(sources)
    if paths:
        return import_objects((obj for path in paths for obj in read_dump(path)), make_options(options))
    live = _open_live(options)
    version = options["version"] or live.read_version()
    imported = import_objects(live.read(), make_options({**options, "version": version}))
    for name, reason in live.refused.items():
        imported.report.left_out[name, reason] += 1
    return imported


def read_live_node_groups(options: dict[str, Any]) -> "list[Object]":
    """Return the NodeGroups of the running cluster."""
    groups: list[Object] = _open_live(options).read_node_groups()
    return groups


def load_contents(sources: Sequence[str], options: dict[str, Any]) -> "SnapshotContents":
    """Return a snapshot, or import dumps or the live cluster; complete what the import lacks."""
    from mockkube.cluster.snapshots.snapshot_start import load_snapshot
    from mockkube.importing.completion import complete_contents
    from mockkube.importing.errors import UnreadableDumpError

    if len(sources) == 1 and _is_snapshot(Path(sources[0])):
        return load_snapshot(Path(sources[0]))
    try:
        # Managers of fields tell who asks for which version.
        imported = import_sources(sources, {**options, "keeps_managed_fields": True})
    except UnreadableDumpError as error:
        raise ConfigurationError(str(error)) from None
    return asyncio.run(complete_contents(imported.contents))[0]


def _is_snapshot(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SNAPSHOT_HEAD)) == _SNAPSHOT_HEAD
    except OSError:
        return False


def make_options(options: dict[str, Any]) -> "ImportOptions":
    """Return the options of the import from those of the command line."""
    from mockkube.importing.cluster_import import ImportOptions
    from mockkube.importing.source_version import parse_minor
    from mockkube.importing.webhooks import WebhookMode

    given = options["version"]
    minor = parse_minor(given) if given else None
    version = parse_version_flag(str(minor or given)) if given else None
    return ImportOptions(
        version=version,
        feature_gates=parse_gate_flags(options["gates"], "--feature-gates"),
        webhooks=WebhookMode(options["webhooks"]),
        redacts_secrets=options["secrets"] == "redact",
        keeps_events=options["keeps_events"],
        keeps_leases=options["keeps_leases"],
        keeps_managed_fields=options["keeps_managed_fields"],
    )


def _open_live(options: dict[str, Any]) -> Any:
    from mockkube.cli.live_cluster import kubeconfig_paths
    from mockkube.client import kubeconfig
    from mockkube.client.blocking_http import BlockingHttpClient
    from mockkube.importing.live_objects import LiveObjects

    try:
        paths = kubeconfig_paths(options["kubeconfig"], options["name"], os.environ)
    except ConfigurationError as error:
        if options["kubeconfig"] or options["name"]:
            raise
        raise ConfigurationError(f"no file and no kubeconfig: give a dump or --kubeconfig; {error}") from None
    try:
        return LiveObjects(BlockingHttpClient(kubeconfig.load_merged(paths, options["context"] or "")))
    except kubeconfig.KubeconfigError as error:
        flag = "--kubeconfig: " if options["kubeconfig"] else ""
        raise ConfigurationError(f"{flag}{error}") from None
