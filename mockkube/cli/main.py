"""Entry point: find the command, turn errors into one line on stderr and an exit code."""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from mockkube.cli.catalogue import COMMANDS
from mockkube.cli.exits import Exit
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

_BY_NAME = {entry.name: entry for entry in COMMANDS}
# Commands that run until they are stopped, and are to end quickly then.
_SERVERS = ("up", "scheduler", "controllers", "kubelets")


class CommandGroup(click.Group):
    """Commands of the catalogue, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the catalogue's order."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, None if it does not exist."""
        if cmd_name not in _BY_NAME:
            return None
        command = import_module(_BY_NAME[cmd_name].module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the catalogue's summaries without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.summary) for entry in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; suggest a similar name for an unknown one."""
        if args and args[0] not in _BY_NAME and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], _BY_NAME, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(_BY_NAME)}"
            ctx.fail(f"no command {args[0]!r}: {remedy}")
        return super().resolve_command(ctx, args)


@click.command(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--proposal", "proposals", multiple=True, metavar="FILE", type=click.Path(),
    help="Load proposals from a Python file, for any command. May be repeated.",
)  # fmt: skip
@click.version_option(package_name="mockkube", message="mockkube %(version)s", help="Print the version and exit.")
@click.pass_context
def mockkube(context: click.Context, proposals: tuple[str, ...]) -> None:
    """Run a whole Kubernetes control plane in one process.

    Start a cluster with 'mockkube up', then use kubectl with the KUBECONFIG it prints.
    """
    if proposals or os.environ.get("MOCKKUBE_PROPOSALS"):
        from mockkube.proposals import loading

        context.with_resource(loading.proposals_from_files(proposals))


def main() -> NoReturn:
    """Run the command line and exit as `Exit` says."""
    is_server = _find_command_name(sys.argv[1:]) in _SERVERS
    if is_server:
        gc.disable()  # until it serves: what is imported stays, and looking at it takes a fiftieth of the start
    code = run(sys.argv[1:])
    if is_server:
        _exit_immediately(code)
    sys.exit(code)


def _find_command_name(arguments: list[str]) -> str:
    """Return the command's name: the first word that is not an option or its value."""
    words = iter(arguments)
    for word in words:
        if word == "--proposal":
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def _exit_immediately(code: int) -> NoReturn:
    """End the process without freeing its memory piece by piece: the system does it faster."""
    with suppress(OSError):  # the reader has closed the pipe
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Return the exit code of a command line; print errors of the user as one line on stderr."""
    try:
        answer = mockkube.main(arguments, prog_name="mockkube", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return Exit.OK
    except click.ClickException as error:
        return _print_error(_describe_usage_error(error), Exit.USAGE)
    except ConfigurationError as error:
        return _print_error(str(error), Exit.USAGE)
    except ValueError as error:
        if not _is_proposal_error(error):
            raise
        return _print_error(str(error), Exit.USAGE)
    except StartError as error:
        return _print_error(str(error), Exit.NOT_STARTED)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # else the interpreter fails when it flushes at exit
        return Exit.FAILED
    return answer if isinstance(answer, int) else Exit.OK


def _is_proposal_error(error: ValueError) -> bool:
    """Return whether the error is a ProposalError, without importing its module."""
    # If the module has not been imported, no proposal was loaded and the error is another one.
    contents = sys.modules.get("mockkube.proposals.validation")
    return contents is not None and isinstance(error, contents.ProposalError)


def _describe_usage_error(error: click.ClickException) -> str:
    """Return click's message in words of its users; what is missing or too much comes with the command that helps."""
    text = error.format_message()
    for words, plain in (("float range", "number"), ("integer range", "number"), ("valid float", "valid number")):
        text = text.replace(words, plain)
    context = getattr(error, "ctx", None)
    if context is not None and (isinstance(error, click.MissingParameter) or text.startswith("Got unexpected")):
        return f"{text.rstrip('.')}: see '{context.command_path} --help'"
    return text


def _print_error(text: str, code: Exit) -> Exit:
    print(f"mockkube: {text}", file=sys.stderr)
    return code
