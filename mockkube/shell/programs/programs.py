"""Programs that the interpreter knows, by name."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import ROOT_UID, UNKNOWN, FileError, check_length
from mockkube.shell.machine.machine import ENDLESS, Endless, PastHorizon
from mockkube.shell.programs import images, printing, text_programs
from mockkube.shell.programs.entrypoints import PAUSE
from mockkube.shell.programs.file_programs import FILE_PROGRAMS
from mockkube.shell.programs.text_programs import TEXT_PROGRAMS
from mockkube.shell.scripts import builtins, conditions, interactive
from mockkube.shell.scripts.arithmetic import divide, remainder, to_int64
from mockkube.shell.scripts.expansion import require_known
from mockkube.shell.scripts.parser import parse
from mockkube.shell.scripts.shell import Program, Shell

_PROGRAM_DIRECTORIES: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)$")
_DURATION_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SEQUENCE_MAX: Final = 4096
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OPTION: Final = re.compile(r"-[a-zA-Z]+$")


def find_program(name: str) -> Program | None:
    """Return the implementation of a command, None if it is not known."""
    return find_executable(name) or builtins.BUILTINS.get(name)


def find_executable(path: str) -> Program | None:
    """Return the implementation of a program run by path or name, None if it is not known."""
    if images.is_agnhost(path):
        return images.run_agnhost
    folder, slash, bare = path.rpartition("/")
    if slash and f"{folder}/" not in _PROGRAM_DIRECTORIES:
        return _run_for_ever if path == PAUSE else None
    return _PROGRAMS.get(bare)


def _run_sleep(shell: Shell, words: Sequence[str]) -> int:
    seconds = 0.0
    for word in words:
        require_known(word)
        if word in ("infinity", "inf"):
            seconds = ENDLESS
            continue
        found = _DURATION.match(word)
        if found is None:
            shell.print(f"sleep: invalid time interval '{word}'\n", 2)
            return 1
        seconds += float(found[1]) * _DURATION_UNITS[found[2]]
    if not words:
        shell.print("sleep: missing operand\n", 2)
        return 1
    shell.machine.sleep(seconds)
    return 0


def _run_for_ever(shell: Shell, words: Sequence[str]) -> int:
    raise Endless if shell.machine.horizon == ENDLESS else PastHorizon


def _run_tail(shell: Shell, words: Sequence[str]) -> int:
    if any(_OPTION.match(word) and word[-1] in "fF" for word in words) or "--follow" in words:
        return _run_for_ever(shell, words)
    return text_programs.run_tail(shell, words)


def _run_seq(shell: Shell, words: Sequence[str]) -> int:
    try:
        numbers = [int(require_known(word)) for word in words]
    except ValueError:
        raise Unsupported from None
    if not 1 <= len(numbers) <= 3:
        raise Unsupported
    first, step = (numbers[0] if len(numbers) > 1 else 1), (numbers[1] if len(numbers) > 2 else 1)
    if step == 0 or abs(numbers[-1] - first) // abs(step) > _SEQUENCE_MAX:
        raise Unsupported
    shell.machine.count_steps((abs(numbers[-1] - first) // abs(step)) // 16)
    listed = range(first, numbers[-1] + (1 if step > 0 else -1), step)
    shell.print("".join(f"{number}\n" for number in listed))
    return 0


def _run_date(shell: Shell, words: Sequence[str]) -> int:
    arguments = [word for word in words if word not in ("-u", "--utc")]
    moment = shell.machine.current_time()
    if len(arguments) > 1 or (arguments and not arguments[0].startswith("+")):
        raise Unsupported
    if moment is None:
        shell.print(f"{UNKNOWN}\n")
        return 0
    fields: Mapping[str, str] = {
        "Y": f"{moment:%Y}", "m": f"{moment:%m}", "d": f"{moment:%d}", "H": f"{moment:%H}", "M": f"{moment:%M}",
        "S": f"{moment:%S}", "s": str(int(moment.timestamp())), "F": f"{moment:%Y-%m-%d}", "T": f"{moment:%H:%M:%S}",
        "N": f"{moment.microsecond * 1000:09}", "Z": "UTC", "z": "+0000", "e": f"{moment.day:2}", "%": "%",
        "a": _WEEKDAYS[moment.weekday()], "b": _MONTHS[moment.month - 1], "y": f"{moment:%y}", "j": f"{moment:%j}",
    }  # fmt: skip

    def field(found: re.Match[str]) -> str:
        if found[1] not in fields:
            raise Unsupported
        return fields[found[1]]

    form = arguments[0][1:] if arguments else "%a %b %e %H:%M:%S %Z %Y"
    shell.print(re.sub(r"%(.)", field, form) + "\n")
    return 0


def _run_env(shell: Shell, words: Sequence[str]) -> int:
    other, rest = shell.make_subshell(), list(words)
    while rest and "=" in rest[0]:
        name, _, value = rest.pop(0).partition("=")
        other.variables[name] = value
        other.exported[name] = None
    if rest:
        if rest[0].startswith("-"):
            raise Unsupported
        return other.run(rest)
    shell.print("".join(f"{name}={other.variables[name]}\n" for name in other.exported if name in other.variables))
    if shell.machine.environment.has_unknown_variables:
        shell.print(UNKNOWN)
    return 0


def _run_printenv(shell: Shell, words: Sequence[str]) -> int:
    if not words:
        return _run_env(shell, ())
    code = 0
    for word in words:
        if word in shell.exported and word in shell.variables:
            shell.print(f"{shell.variables[word]}\n")
        elif shell.machine.environment.has_unknown_variables:
            raise Unsupported
        else:
            code = 1
    return code


def _run_hostname(shell: Shell, words: Sequence[str]) -> int:
    if words or not shell.machine.environment.hostname:
        raise Unsupported
    shell.print(f"{shell.machine.environment.hostname}\n")
    return 0


def _run_expr(shell: Shell, words: Sequence[str]) -> int:
    rest = [require_known(word) for word in words]
    value = _evaluate_expr(rest, 0)
    if rest:
        raise Unsupported
    shell.print(f"{value}\n")
    return int(value in ("", "0"))


_EXPR_LEVELS: Final = (("|",), ("&",), ("=", "==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))


def _evaluate_expr(rest: list[str], level: int) -> str:
    if level == len(_EXPR_LEVELS):
        return _evaluate_expr_operand(rest)
    left = _evaluate_expr(rest, level + 1)
    while rest and rest[0] in _EXPR_LEVELS[level]:
        operator = rest.pop(0)
        left = _apply_expr_operator(operator, left, _evaluate_expr(rest, level + 1))
    return left


def _evaluate_expr_operand(rest: list[str]) -> str:
    if not rest:
        raise Unsupported
    word = rest.pop(0)
    if word == "(":
        value = _evaluate_expr(rest, 0)
        if not rest or rest.pop(0) != ")":
            raise Unsupported
        return value
    if word == "length" and rest:
        return str(len(rest.pop(0)))
    if word in ("match", "substr", "index") or (rest and rest[0] == ":"):
        raise Unsupported
    return word


def _apply_expr_operator(operator: str, left: str, right: str) -> str:
    if operator == "|":
        return left if left not in ("", "0") else right
    if operator == "&":
        return left if left not in ("", "0") and right not in ("", "0") else "0"
    numbers = [int(one) for one in (left, right) if re.fullmatch(r"-?\d+", one)]
    if operator in ("+", "-", "*", "/", "%"):
        if len(numbers) != 2:
            raise Unsupported
        return str(to_int64(_EXPR_CALCULATIONS[operator](*numbers)))
    one, other = numbers if len(numbers) == 2 else (left, right)
    order = (one > other) - (one < other)  # type: ignore[operator]  # both are numbers, or both texts
    return str(int(order in _EXPR_COMPARISONS[operator]))


_EXPR_CALCULATIONS: Final = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": divide,
    "%": remainder,
}
_EXPR_COMPARISONS: Final[Mapping[str, tuple[int, ...]]] = {
    "=": (0,), "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip


def _run_shell(shell: Shell, words: Sequence[str], *, bash: bool) -> int:
    """Run `sh`, with `-c` or with a script on standard input."""
    other, rest, script = shell.make_subshell(), list(words), None
    # A new process inherits only exported variables, unlike a subshell.
    other.variables = {name: shell.variables[name] for name in shell.exported if name in shell.variables}
    other.functions, other.arguments, other.is_bash = {}, [], bash
    other.exits_on_error = other.fails_on_unset = False
    other.reset_conditions()
    while rest and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        flags = rest.pop(0)
        if flags == "--":
            break
        if flags == "-o" and rest:
            flags = f"-{builtins.short_flag(rest.pop(0))}"
        if not re.fullmatch(r"[-+][ceuxilf]+", flags):
            raise Unsupported
        builtins.apply_flags(other, flags)
        script = "" if "c" in flags else script
    if script is None:
        return _run_shell_input(other, rest)
    if not rest:
        raise Unsupported
    script, *other.arguments = rest
    if other.arguments:
        other.name = other.arguments.pop(0)
    code = other.run_script(parse(require_known(script)))
    shell.machine.count_steps()
    return code


def _run_shell_input(shell: Shell, words: Sequence[str]) -> int:
    """Run a shell without `-c`, in its own process: a script file, or the commands of its standard input."""
    if words:
        script = _read_script(shell, words[0])
        if script is None:
            shell.print(f"{shell.name}: can't open '{words[0]}': No such file or directory\n", 2)
            return 127 if shell.is_bash else 2
        shell.name, *shell.arguments = words
        return shell.run_script(parse(require_known(script)))
    if shell.stdin is None and shell.machine.input is not None:
        return interactive.run_input(shell, shell.machine.input)
    return shell.run_script(parse(require_known(builtins.read_all(shell))))


def _read_script(shell: Shell, path: str) -> str | None:
    """Return a script file; None if it cannot be read."""
    try:
        return shell.machine.files.read(require_known(path))
    except FileError:
        return None


def _run_tar(shell: Shell, words: Sequence[str]) -> int:
    from mockkube.shell.programs.archives import run_tar  # only kubectl cp needs it

    return run_tar(shell, words)


def _run_timeout(shell: Shell, words: Sequence[str]) -> int:
    """Stop a command after a time."""
    found = _DURATION.match(require_known(words[0])) if words else None
    if found is None or len(words) < 2:
        raise Unsupported
    machine = shell.machine
    before, ends = machine.horizon, machine.now + float(found[1]) * _DURATION_UNITS[found[2]]
    # The horizon comes first: nothing after it is of interest, the time-out included.
    if ends >= before:
        return shell.make_subshell().run(words[1:])
    machine.horizon = ends
    try:
        return shell.make_subshell().run(words[1:])
    except PastHorizon:
        machine.now = ends
        # The exit code of `timeout` for a command that it stopped.
        return 124
    finally:
        machine.horizon = before


def _run_basename(shell: Shell, words: Sequence[str]) -> int:
    if len(words) != 1:
        raise Unsupported
    shell.print(f"{check_length(require_known(words[0])).rstrip('/').rpartition('/')[2]}\n")
    return 0


def _run_ip(shell: Shell, words: Sequence[str]) -> int:
    """Add a network interface, which needs a capability; what the interfaces are is not known."""
    if list(words[:2]) != ["link", "add"]:
        raise Unsupported
    machine = shell.machine
    if machine.environment.has_network_capability and machine.files.user.uid == ROOT_UID:
        return 0
    shell.print("ip: RTNETLINK answers: Operation not permitted\n", 2)
    return 2


def _run_nnp(shell: Shell, words: Sequence[str]) -> int:
    """Print the effective user of the program of the image `nonewprivs`, which is setuid root."""
    machine = shell.machine
    uid = ROOT_UID if machine.environment.may_escalate else machine.files.user.uid
    shell.print(f"Effective uid: {uid}\n")
    return 0


_PROGRAMS: Final[Mapping[str, Program]] = {
    **FILE_PROGRAMS,
    **TEXT_PROGRAMS,
    "true": lambda shell, words: 0,
    "false": lambda shell, words: 1,
    "sleep": _run_sleep,
    "echo": printing.run_echo,
    "printf": printing.run_printf,
    "pause": _run_for_ever,
    "tail": _run_tail,
    "seq": _run_seq,
    "date": _run_date,
    "env": _run_env,
    "printenv": _run_printenv,
    "hostname": _run_hostname,
    "ip": _run_ip,
    "expr": _run_expr,
    "test": conditions.run_test,
    "[": lambda shell, words: builtins.evaluate_bracket(shell, words),
    "sh": lambda shell, words: _run_shell(shell, words, bash=False),
    "ash": lambda shell, words: _run_shell(shell, words, bash=False),
    "dash": lambda shell, words: _run_shell(shell, words, bash=False),
    "bash": lambda shell, words: _run_shell(shell, words, bash=True),
    "tar": _run_tar,
    "timeout": _run_timeout,
    "basename": _run_basename,
    "yes": _run_for_ever,
    "sync": lambda shell, words: 0,
    "nnp": _run_nnp,
    "nohup": lambda shell, words: shell.run(words) if words else 125,
}
