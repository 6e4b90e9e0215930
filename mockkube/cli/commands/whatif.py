"""`mockkube whatif`: simulate a cluster with and without changes, and compare."""

import asyncio
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.cluster_imports import import_options, load_contents, read_live_node_groups
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cli.parameters import parse_duration_flag
from mockkube.cli.picture_option import picture_option, write_picture
from mockkube.cli.repeated_command import list_arguments
from mockkube.cli.result_output import print_result
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.whatif.base import WhatIfBase
    from mockkube.whatif.results import WhatIfResult
    from mockkube.whatif.variant_player import WhatIfVariant


# NodeGroups are no part of a dump, so larger files are not read for them.
_MANIFESTS_BYTES_MAX: Final = 4 * 1024 * 1024


@click.command(short_help="Simulate a cluster with and without changes, and compare.")
@click.argument("sources", nargs=-1, type=click.Path(), metavar="[SNAPSHOT|DUMP|MANIFESTS]...")
@click.option("--change", "changes", multiple=True, metavar="CHANGE",
              help="A variant: 'nodes -20%', 'zone b gone', 'deployment web x3'; several with ' and '.")  # fmt: skip
@click.option("--change-file", "change_files", multiple=True, metavar="FILE", type=click.Path(),
              help="Variants in YAML: a list with name, changes, schedulerConfig.")  # fmt: skip
@click.option("--scheduler-config", "scheduler_configs", multiple=True, metavar="FILE", type=click.Path(),
              help="A variant: all pods placed anew with this KubeSchedulerConfiguration.")  # fmt: skip
@click.option("--node-groups", multiple=True, metavar="FILE", type=click.Path(),
              help="NodeGroups of the cluster, which add and remove nodes.")  # fmt: skip
@click.option("--price", "prices", multiple=True, metavar="TYPE=PRICE",
              help="Price of a node of a type of instance per hour; * for all others.")  # fmt: skip
@click.option("--for", "duration", metavar="DURATION", default="30m", show_default=True,
              help="How long to watch after the change, in virtual time.")  # fmt: skip
@click.option("--settle", metavar="DURATION", default="5m", show_default=True,
              help="How long to let the cluster come to rest before the change.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of everything random.")
@import_options
@click.option("--report", metavar="FILE", type=click.Path(), help="Write a report as one HTML file.")
@picture_option
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@output_option("table", "json", "md")
def command(sources: tuple[str, ...], output: str, **options: Any) -> Exit:
    """Simulate a cluster in virtual time, once as it is and once for each change, and compare.

    The cluster is a snapshot of `mockkube import`, a dump, a directory of manifests, or a running cluster. The result
    shows where pods are, which wait and why, what was disrupted, when it recovered, and what it costs. Ends with 1 if
    a variant leaves pods without a node or workloads without replicas.
    """
    from mockkube.explore.replay import without_logs
    from mockkube.whatif.errors import WhatIfError
    from mockkube.whatif.variant_player import PlayOptions
    from mockkube.whatif.what_if import play_what_if

    play_options = PlayOptions(
        parse_duration_flag(options["settle"], "--settle"),
        parse_duration_flag(options["duration"], "--for"),
        options["seed"],
    )
    try:
        variants = _load_variants(options)
        base = _load_base(sources, options)
        with without_logs():
            progress = _show_nothing if options["quiet"] else _show_progress
            result = asyncio.run(play_what_if(base, variants, play_options, progress))
    except WhatIfError as error:
        raise ConfigurationError(str(error)) from None
    _print_result(result, output)
    arguments = list_arguments(click.get_current_context())
    _write_report(result, options["report"], shlex.join(["mockkube", "whatif", *arguments]))
    if options["picture"]:
        from mockkube.report.pictures import whatif_card

        write_picture(options, whatif_card.render(result, arguments))
    return Exit.OK if result.is_good else Exit.FAILED


def _load_variants(options: dict[str, Any]) -> "list[WhatIfVariant]":
    from mockkube.whatif.variant_files import (
        load_change_file,
        load_scheduler_config,
        make_scheduler_variant,
        make_variant,
    )

    variants = [make_variant(text) for text in options["changes"]]
    variants += [one for path in options["change_files"] for one in load_change_file(path)]
    variants += [make_scheduler_variant(path, load_scheduler_config(path)) for path in options["scheduler_configs"]]
    if not variants:
        raise ConfigurationError(
            "nothing to compare: give --change, like --change 'zone b gone', --change-file or --scheduler-config"
        )
    return variants


def _load_base(sources: Sequence[str], options: dict[str, Any]) -> "WhatIfBase":
    from mockkube.importing.dump_files import read_dump
    from mockkube.importing.errors import UnreadableDumpError
    from mockkube.whatif.base import WhatIfBase, is_node_group
    from mockkube.whatif.variant_files import parse_prices

    contents = load_contents(tuple(sources), options)
    try:
        files: Iterable[str] = (*options["node_groups"], *filter(_may_be_manifests, sources))
        groups = [obj for path in files for obj in read_dump(path) if is_node_group(obj)]
        if not sources and not groups:
            groups = read_live_node_groups(options)
    except UnreadableDumpError as error:
        raise ConfigurationError(str(error)) from None
    name = ", ".join(sources) or "the running cluster"
    return WhatIfBase(name, contents, groups, parse_prices(options["prices"]))


def _may_be_manifests(source: str) -> bool:
    """Return whether a source is a directory, or a file that is too small to be the dump of a large cluster."""
    path = Path(source)
    is_text = path.suffix in (".yaml", ".yml", ".json")
    return path.is_dir() or (is_text and path.is_file() and path.stat().st_size <= _MANIFESTS_BYTES_MAX)


def _show_progress(name: str, number: int, total: int) -> None:
    print(f"{number} of {total}: {name}", file=sys.stderr, flush=True)


def _show_nothing(name: str, number: int, total: int) -> None: ...


def _print_result(result: "WhatIfResult", output: str) -> None:
    from mockkube.whatif.results import to_json
    from mockkube.whatif.whatif_text import render_markdown, render_table

    print_result(result, output, to_json=to_json, render_markdown=render_markdown, render_table=render_table)


def _write_report(result: "WhatIfResult", path: str | None, command: str) -> None:
    if not path:
        return
    from mockkube.report.pages.whatif_page import render

    try:
        Path(path).write_text(render(result, command))
    except OSError as error:
        raise StartError(f"--report: {path}: {error.strerror}: give a file that can be written") from None
