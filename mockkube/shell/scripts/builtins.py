"""Built-in commands of the shell."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.scripts import conditions
from mockkube.shell.scripts.expansion import require_known
from mockkube.shell.scripts.shell import ControlFlow, Program, Shell, ShellExit

_NAME: Final = re.compile(r"[A-Za-z_]\w*$")
_FLAGS: Final = {"errexit": "e", "nounset": "u", "xtrace": "x", "pipefail": "f"}


def read_all(shell: Shell) -> str:
    """Return the standard input; raise Unsupported if it comes from outside the script."""
    if shell.stdin is not None:
        return shell.stdin
    if shell.machine.input is not None:
        return shell.machine.input.read_all(shell.machine)
    if shell.machine.environment.stdin:
        raise Unsupported
    return ""


def short_flag(option: str) -> str:
    """Return the letter of a long option; raise Unsupported for an unsupported one."""
    if option not in _FLAGS:
        raise Unsupported
    return _FLAGS[option]


def apply_flags(shell: Shell, flags: str) -> None:
    """Set or clear flags like `-e`."""
    if "e" in flags:
        shell.exits_on_error = flags[0] == "-"
    if "u" in flags:
        shell.fails_on_unset = flags[0] == "-"


def evaluate_bracket(shell: Shell, words: Sequence[str]) -> int:
    """Evaluate `[ ... ]`."""
    if not words or words[-1] != "]":
        raise Unsupported
    return conditions.run_test(shell, words[:-1])


def _parse_count(words: Sequence[str], default: int) -> int:
    if not words:
        return default
    if not re.fullmatch(r"\d+", require_known(words[0])):
        raise Unsupported
    return int(words[0])


def _run_exit(shell: Shell, words: Sequence[str]) -> int:
    raise ShellExit(_parse_count(words, shell.status))


def _make_leave(how: str) -> Program:
    def leave(shell: Shell, words: Sequence[str]) -> int:
        raise ControlFlow(how, max(1, _parse_count(words, 1)))

    return leave


def _run_return(shell: Shell, words: Sequence[str]) -> int:
    shell.status = _parse_count(words, shell.status) & 255
    raise ControlFlow("return")


def _run_exec(shell: Shell, words: Sequence[str]) -> int:
    if not words or words[0].startswith("-"):
        raise Unsupported
    # `exec` replaces the shell: nothing of the script runs after the program.
    raise ShellExit(shell.run(words))


def _run_set(shell: Shell, words: Sequence[str]) -> int:
    rest = list(words)
    while rest and rest[0][:1] in ("-", "+") and rest[0] != "--":
        flags = rest.pop(0)
        if flags.endswith("o") and rest:
            flags = f"{flags[:-1]}{short_flag(rest.pop(0))}"
        # `x` is accepted without its trace, as most scripts do not depend on what it prints to standard error.
        if not re.fullmatch(r"[-+][euxf]+", flags):
            raise Unsupported
        apply_flags(shell, flags)
    if rest:
        shell.arguments = rest[1:] if rest[0] == "--" else rest
    return 0


def _run_export(shell: Shell, words: Sequence[str]) -> int:
    for word in words:
        name, assigned, value = word.partition("=")
        if not _NAME.match(name):
            raise Unsupported
        if assigned:
            shell.variables[name] = value
        shell.exported[name] = None
    return 0


def _run_local(shell: Shell, words: Sequence[str]) -> int:
    """Run `local` and `readonly`. Locals are not restored when a function returns; only recursion would notice."""
    for word in words:
        name, assigned, value = word.partition("=")
        if not _NAME.match(name):
            raise Unsupported
        if assigned:
            shell.variables[name] = value
    return 0


def _run_unset(shell: Shell, words: Sequence[str]) -> int:
    for word in words:
        shell.variables.pop(word, None)
        shell.exported.pop(word, None)
    return 0


def _run_shift(shell: Shell, words: Sequence[str]) -> int:
    del shell.arguments[: _parse_count(words, 1)]
    return 0


def _run_wait(shell: Shell, words: Sequence[str]) -> int:
    # Process ids are not simulated, so `wait PID` is only clear with a single background command.
    if words and len(shell.tasks) != 1:
        raise Unsupported
    code = shell.wait()
    return code if words else 0


def _do_nothing(shell: Shell, words: Sequence[str]) -> int:
    return 0


BUILTINS: Final[Mapping[str, Program]] = {
    ":": _do_nothing,
    "trap": _do_nothing,
    "ulimit": _do_nothing,
    "umask": _do_nothing,
    "exit": _run_exit,
    "break": _make_leave("break"),
    "continue": _make_leave("continue"),
    "return": _run_return,
    "exec": _run_exec,
    "set": _run_set,
    "export": _run_export,
    "local": _run_local,
    "readonly": _run_local,
    "unset": _run_unset,
    "shift": _run_shift,
    "wait": _run_wait,
}
