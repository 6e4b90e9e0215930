"""`mockkube examples`: list and copy the scenarios and rollout plans that ship with mockkube."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.shipped_files import FOLDER, shipped_directory
from mockkube.cluster.configuration.errors import StartError

FOLDERS: Final = {
    "examples": "scenarios to begin with",
    "plans": "rollout plans, for 'mockkube explore'",
    "gates": "workloads of feature gates, for 'mockkube atlas'",
    "kep-3094": "taints in pod topology spread",
    "kep-5471": "Gt and Lt in tolerations",
    "kep-5500": "CEL in tolerations",
    "kep-5721": "semantic versions in node selectors",
    "perturb": "clusters of mockkube's own components, for 'mockkube perturb'",
    "performance": "what the proposals say of cost",
    "races": "races of Kubernetes that explore --interleavings finds",
    "skew": "components of different versions",
    "values": "how taint values and versions compare",
}


@click.group(short_help="List and copy the scenarios and plans that ship.", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> Exit:
    """Show the folders of scenarios and rollout plans that ship with mockkube."""
    if context.invoked_subcommand is None:
        for line in _table():
            click.echo(line)
    return Exit.OK


def _table() -> Iterator[str]:
    top = shipped_directory()
    rows = [("FOLDER", "FILES", "ABOUT")]
    for name, about in FOLDERS.items():
        rows.append((f"{FOLDER}/{name}", str(len(list((top / name).rglob("*.yaml")))), about))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    yield from ("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    yield ""
    yield f"Run one: mockkube test {FOLDER}/examples. Copy all: mockkube examples copy."


@command.command("list")
@click.argument("folder", default="", metavar="[FOLDER]")
def list_files(folder: str) -> Exit:
    """List the files, or those of one folder, by the names that 'test' and 'explore' take."""
    top = shipped_directory()
    wanted = folder.removeprefix(f"{FOLDER}/").strip("/")
    if wanted not in ("", *FOLDERS):
        raise click.UsageError(f"there is no folder {folder!r}: there are {', '.join(FOLDERS)}")
    for path in sorted((top / wanted).rglob("*.yaml")):
        click.echo(f"{FOLDER}/{path.relative_to(top).as_posix()}")
    return Exit.OK


@command.command("copy")
@click.argument("directory", default=FOLDER, type=click.Path(), metavar="[DIRECTORY]")
def copy_files(directory: str) -> Exit:
    """Copy them to a directory that does not exist yet. [conformance]"""
    target = Path(directory)
    if target.exists():
        raise click.UsageError(f"{directory} exists already: give a directory that does not")
    try:
        shutil.copytree(shipped_directory(), target)
    except (OSError, shutil.Error) as error:
        raise StartError(f"{directory}: {error}: give a directory that can be made") from None
    click.echo(f"Copied to {directory}. Run one: mockkube test {target / 'examples'}")
    return Exit.OK
