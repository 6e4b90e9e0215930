"""`mockkube version`: print the version of mockkube and the Kubernetes versions it emulates."""

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.features.versions import DEFAULT, NEWEST, OLDEST


@click.command(short_help="Print the versions of mockkube and of Kubernetes.")
@output_option("text", "json", "yaml")
def command(output: str) -> Exit:
    """Print the versions of mockkube and of Kubernetes."""
    from importlib.metadata import version

    facts = {
        "mockkube": version("mockkube"),
        "kubernetes": str(DEFAULT),
        "kubernetesOldest": str(OLDEST),
        "kubernetesNewest": str(NEWEST),
    }
    if output == "json":
        import json

        click.echo(json.dumps(facts, indent=2))
    elif output == "yaml":
        click.echo("\n".join(f'{name}: "{value}"' for name, value in facts.items()))
    else:
        click.echo(f"mockkube {facts['mockkube']} (Kubernetes {DEFAULT} by default, {OLDEST} to {NEWEST})")
    return Exit.OK
