"""`mockkube doctor`: check what this machine has, and what is missing."""

import json
import os
from dataclasses import asdict
from typing import Final

import click

from mockkube.cli.environment_checks import CheckResult, CheckStatus, run_checks
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option

_COLORS: Final = {CheckStatus.OK: "green", CheckStatus.WARNING: "yellow", CheckStatus.FAILED: "red"}
_STATUS_WIDTH: Final = max(map(len, CheckStatus))


@click.command(short_help="Check what this machine has, and what is missing.")
@output_option("text", "json")
def command(output: str) -> Exit:
    """Check Python, its packages, port, kubectl, kubeconfig, directories, limits and browser.

    Each check that is not passed ends with the command that helps. The exit code is 1 if 'mockkube up' would not
    start; warnings are about what not everybody needs.
    """
    results = []
    for result in run_checks(os.environ):
        results.append(result)
        if output == "text":
            _print_result(result)
    if output == "json":
        click.echo(json.dumps([asdict(result) for result in results], indent=2))
    return Exit.FAILED if any(result.status is CheckStatus.FAILED for result in results) else Exit.OK


def _print_result(result: CheckResult) -> None:
    status = click.style(result.status.value.ljust(_STATUS_WIDTH), fg=_COLORS[result.status])
    click.echo(f"{status}  {result.name}: {result.message}")
    if result.remedy:
        click.echo(f"{' ' * _STATUS_WIDTH}  $ {result.remedy}")
