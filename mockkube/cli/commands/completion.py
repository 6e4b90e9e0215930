"""`mockkube completion`: print a completion script for a shell."""

import click

from mockkube.cli.exits import Exit

VARIABLE = "_MOCKKUBE_COMPLETE"


@click.command(short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> Exit:
    """Print a completion script for a shell.

    \b
    bash: source <(mockkube completion bash)
    zsh:  source <(mockkube completion zsh)
    fish: mockkube completion fish | source
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None, "click completes in each shell of the choice"
    click.echo(completion(context.find_root().command, {}, "mockkube", VARIABLE).source())
    return Exit.OK
