"""Built-in commands of the shell."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.shell import conditions
from mockkube.shell.expansion import require_known
from mockkube.shell.shell import Exits, Leaves, Program, Shell
from mockkube.shell.syntax import Unsupported

_NAME: Final = re.compile(r"[A-Za-z_]\w*$")
_FLAGS: Final = {"errexit": "e", "nounset": "u", "xtrace": "x", "pipefail": "f"}


def read_all(shell: Shell) -> str:
    """Return the standard input; raise Unsupported if it comes from outside the script."""
    if shell.stdin is not None:
        return shell.stdin
    if shell.machine.given.stdin:
        raise Unsupported
    return ""


def flag_of(option: str) -> str:
    """Return the letter of a long option; raise Unsupported for an unsupported one."""
    if option not in _FLAGS:
        raise Unsupported
    return _FLAGS[option]


def apply_flags(shell: Shell, flags: str) -> None:
    """Set or clear flags like `-e`."""
    if "e" in flags:
        shell.stops_on_error = flags[0] == "-"
    if "u" in flags:
        shell.strict = flags[0] == "-"


def bracket(shell: Shell, words: Sequence[str]) -> int:
    """Evaluate `[ ... ]`."""
    if not words or words[-1] != "]":
        raise Unsupported
    return conditions.test(shell, words[:-1])


def _number(words: Sequence[str], default: int) -> int:
    if not words:
        return default
    if not re.fullmatch(r"\d+", require_known(words[0])):
        raise Unsupported
    return int(words[0])


def _exit(shell: Shell, words: Sequence[str]) -> int:
    raise Exits(_number(words, shell.status))


def _leave(how: str) -> Program:
    def leave(shell: Shell, words: Sequence[str]) -> int:
        raise Leaves(how, max(1, _number(words, 1)))

    return leave


def _return(shell: Shell, words: Sequence[str]) -> int:
    shell.status = _number(words, shell.status) & 255
    raise Leaves("return")


def _exec(shell: Shell, words: Sequence[str]) -> int:
    if not words or words[0].startswith("-"):
        raise Unsupported
    # `exec` replaces the shell: nothing of the script runs after the program.
    raise Exits(shell.run(words))


def _set(shell: Shell, words: Sequence[str]) -> int:
    rest = list(words)
    while rest and rest[0][:1] in ("-", "+") and rest[0] != "--":
        flags = rest.pop(0)
        if flags.endswith("o") and rest:
            flags = f"{flags[:-1]}{flag_of(rest.pop(0))}"
        # `x` is accepted without its trace, as most scripts do not depend on what it prints to standard error.
        if not re.fullmatch(r"[-+][euxf]+", flags):
            raise Unsupported
        apply_flags(shell, flags)
    if rest:
        shell.arguments = rest[1:] if rest[0] == "--" else rest
    return 0


def _export(shell: Shell, words: Sequence[str]) -> int:
    for word in words:
        name, assigned, value = word.partition("=")
        if not _NAME.match(name):
            raise Unsupported
        if assigned:
            shell.variables[name] = value
        shell.exported[name] = None
    return 0


def _assign(shell: Shell, words: Sequence[str]) -> int:
    """Run `local` and `readonly`. Locals are not restored when a function returns; only recursion would notice."""
    for word in words:
        name, assigned, value = word.partition("=")
        if not _NAME.match(name):
            raise Unsupported
        if assigned:
            shell.variables[name] = value
    return 0


def _unset(shell: Shell, words: Sequence[str]) -> int:
    for word in words:
        shell.variables.pop(word, None)
        shell.exported.pop(word, None)
    return 0


def _shift(shell: Shell, words: Sequence[str]) -> int:
    del shell.arguments[: _number(words, 1)]
    return 0


def _wait(shell: Shell, words: Sequence[str]) -> int:
    # Process ids are not simulated, so `wait PID` is only clear with a single background command.
    if words and len(shell.tasks) != 1:
        raise Unsupported
    code = shell.wait()
    return code if words else 0


def _nothing(shell: Shell, words: Sequence[str]) -> int:
    return 0


BUILTINS: Final[Mapping[str, Program]] = {
    ":": _nothing,
    "trap": _nothing,
    "ulimit": _nothing,
    "umask": _nothing,
    "exit": _exit,
    "break": _leave("break"),
    "continue": _leave("continue"),
    "return": _return,
    "exec": _exec,
    "set": _set,
    "export": _export,
    "local": _assign,
    "readonly": _assign,
    "unset": _unset,
    "shift": _shift,
    "wait": _wait,
}
