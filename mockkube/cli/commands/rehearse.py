"""`mockkube rehearse`: try an upgrade on an imported cluster."""

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.cluster_imports import import_options, load_contents
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cli.parameters import parse_gate_flags, parse_version_flag
from mockkube.cli.picture_option import picture_option, write_picture
from mockkube.cli.repeated_command import list_arguments
from mockkube.cli.result_output import print_result
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.api.json_objects import ReadOnlyObject
    from mockkube.rehearse.rehearsal import Rehearsal


@click.command(short_help="Try an upgrade on an imported cluster.")
@click.argument("sources", nargs=-1, type=click.Path(), metavar="[SNAPSHOT|DUMP]...")
@click.option("--to", "target", metavar="VERSION", required=True, help="The version to upgrade to.")
@click.option("--gates", "new_gates", multiple=True, metavar="GATES", help="Gates to set in addition: A=true,B=false.")
@click.option("--pool-label", metavar="KEY", default="", help="Label of nodes that names their pool. [known ones]")
@click.option("--orders", "orders_max", type=click.IntRange(0), metavar="N",
              help="How many of the supported orders to simulate. [20; fewer, or none, in large clusters]")  # fmt: skip
@import_options
@click.option("--report", metavar="FILE", type=click.Path(), help="Write a report as one HTML file.")
@picture_option
@click.option("--runbook", metavar="FILE", type=click.Path(), help="Write the runbook of a safe order.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@output_option("table", "json", "md")
def command(sources: tuple[str, ...], target: str, output: str, **options: Any) -> Exit:
    """Try an upgrade on a cluster that was imported, or is imported now.

    The objects are checked against the new version, and every order that the version skew policy supports is played in
    virtual time, with drains and the way back. Ends with 1 when something breaks.
    """
    from mockkube.explore.replay import without_logs
    from mockkube.rehearse.rehearsal import rehearse
    from mockkube.rehearse.upgrade import Upgrade
    from mockkube.rehearse.upgrade_orders import UpgradeOrders

    to = parse_version_flag(target, "--to")
    contents = load_contents(sources, options)
    upgrade = Upgrade(contents, to, parse_gate_flags(options["new_gates"], "--gates"), pool_label=options["pool_label"])
    if to < upgrade.version:
        raise ConfigurationError(f"--to: the cluster has {upgrade.version} already: give a newer version than {to}")
    if not upgrade.gates and all(version == to for version in UpgradeOrders(upgrade).versions.values()):
        raise ConfigurationError(f"--to: every component has {to} already: give a newer version, or gates with --gates")
    if (label := options["pool_label"]) and not any(_has_label(node, label) for node in upgrade.list_kind("Node")):
        raise ConfigurationError(
            f"--pool-label: no node has the label {label}: give one that 'kubectl get nodes --show-labels' lists"
        )
    with without_logs():
        progress = _show_nothing if options["quiet"] else _show_progress
        result = asyncio.run(rehearse(upgrade, orders_max=options["orders_max"], on_progress=progress))
    _print_result(result, output)
    _write_files(result, options, list_arguments(click.get_current_context()))
    return Exit.OK if result.is_safe else Exit.FAILED


def _has_label(obj: "ReadOnlyObject", key: str) -> bool:
    return key in (obj["metadata"].get("labels") or {})


def _show_progress(done: int, total: int) -> None:
    print(f"order {done + 1} of {total}", file=sys.stderr, flush=True)


def _show_nothing(done: int, total: int) -> None: ...


def _print_result(result: "Rehearsal", output: str) -> None:
    from mockkube.rehearse.rehearsal_text import render_markdown, render_table, to_json

    print_result(result, output, to_json=to_json, render_markdown=render_markdown, render_table=render_table)


def _write_files(result: "Rehearsal", options: dict[str, Any], arguments: Sequence[str]) -> None:
    from mockkube.rehearse.runbook import render_runbook

    if options["picture"]:
        from mockkube.report.pictures import rehearsal_card

        write_picture(options, rehearsal_card.render(result, arguments))
    for flag in ("report", "runbook"):
        if path := options[flag]:
            if flag == "report":
                from mockkube.report.pages.rehearsal_page import render

                text = render(result, shlex.join(["mockkube", "rehearse", *arguments]))
            else:
                text = render_runbook(result)
            try:
                Path(path).write_text(text)
            except OSError as error:
                raise StartError(f"--{flag}: {path}: {error.strerror}: give a file that can be written") from None
