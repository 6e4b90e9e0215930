"""A shell that reads its commands from standard input, one after the other, as they arrive."""

from itertools import product
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.standard_input import InputReader
from mockkube.shell.scripts.expansion import ParameterError, require_known
from mockkube.shell.scripts.parser import parse
from mockkube.shell.scripts.shell import ControlFlow, Shell, ShellExit
from mockkube.shell.scripts.syntax import Script, UnsupportedRest

PROMPT: Final = "/ # "
# Ends of commands that may be missing because the command goes on in the next line.
_ENDINGS: Final = (
    "", "'", '"', ":", "\nthen :; fi", "\n:; fi", "\nfi", "\ndo :; done", "\n:; done", "\ndone", "\n}", ")",
    "\n;; esac",
)  # fmt: skip
_UNSUPPORTED_CODE: Final = 126


def run_input(shell: Shell, source: InputReader) -> int:
    """Run the commands of standard input, each as soon as it is complete; return the exit code of the shell."""
    has_terminal = shell.machine.environment.tty
    text = ""
    while True:
        if has_terminal:
            shell.print("> " if text else PROMPT, 2)
        line = source.read_line(shell.machine)
        text += line
        if line and not is_complete(text):
            continue
        try:
            shell.interpret(parse(require_known(text)))
        except ShellExit as end:
            return end.code & 255
        except ParameterError as failure:
            shell.print(f"{shell.name}: {failure.text}\n", 2)
            shell.status = 1
        except ControlFlow:
            shell.status = 0
        except Unsupported:
            command, shell.machine.unsupported_command = shell.machine.unsupported_command or text.strip(), ""
            # A person at a terminal goes on with another command; the rest of a script may depend on this one.
            if not has_terminal:
                shell.machine.unsupported_command = command
                raise
            shell.print(f"mockkube: not simulated: {command}\n", 2)
            shell.status = _UNSUPPORTED_CODE
        text = ""
        if not line:
            return shell.status


def is_complete(text: str) -> bool:
    """Return whether a text is a whole command, or one that no further line would make whole."""
    if _is_known(parse(text)) and not text.endswith("\\\n"):
        return True
    return not any(_is_known(parse(f"{text}{inner}{outer}")) for inner, outer in product(_ENDINGS, _ENDINGS))


def _is_known(script: Script) -> bool:
    """Return whether the parser understood the whole script."""
    return not script or not isinstance(script[-1].first.commands[0].kind, UnsupportedRest)
