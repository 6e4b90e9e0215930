"""Shell interpreter: walks the tree of a script and records output, time and exit code."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import FileError, check_length
from mockkube.shell.machine.machine import ENDLESS, ContainerRun, Endless, PastHorizon, PrintedLine
from mockkube.shell.scripts import conditions
from mockkube.shell.scripts.expansion import (
    ParameterError,
    evaluate_arithmetic,
    expand_to_fields,
    expand_to_pattern,
    expand_to_text,
    matches,
    require_known,
)
from mockkube.shell.scripts.loops import is_endless
from mockkube.shell.scripts.syntax import (
    ArithmeticCommand,
    Case,
    Chain,
    Command,
    ConditionCommand,
    For,
    FunctionDefinition,
    Group,
    If,
    Pipeline,
    Redirect,
    Script,
    SimpleCommand,
    UnsupportedRest,
    While,
)  # fmt: skip

DEPTH_MAX: Final = 40
"""Maximum nesting of commands."""
Program = Callable[["Shell", Sequence[str]], int]
"""Runs a program with its arguments and returns its exit code."""
FindProgram = Callable[[str], Program | None]


class ShellExit(Exception):
    """Raised when the shell exits with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ControlFlow(Exception):
    """Raised when a loop ends (`break`) or continues (`continue`), or a function returns (`return`)."""

    def __init__(self, how: str, levels: int = 1) -> None:
        super().__init__(how)
        self.how, self.levels = how, levels


class _RedirectFailed(Exception):
    """Raised when the file of a redirection cannot be opened; the command does not run."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A background command: its end (ENDLESS: never) and exit code; None if unknown."""

    done_at: float | None
    code: int = 0


class Shell:
    """One shell: its variables, arguments and output."""

    def __init__(self, machine: ContainerRun, programs: FindProgram, variables: Mapping[str, str]) -> None:
        self.machine, self.programs = machine, programs
        self.variables = dict(variables)
        self.exported = dict.fromkeys(variables)
        self.functions: dict[str, Command] = {}
        self.arguments: list[str] = []
        self.name = "sh"
        self.is_bash = False
        self.exits_on_error = False
        self.fails_on_unset = False
        """True if an unset variable is an error (`set -u`)."""
        self.status = 0
        self.tasks: list[BackgroundTask] = []
        self.stdin: str | None = None
        """Standard input; None for that of the container."""
        self._sinks: dict[int, Callable[[str], None]] = {1: machine.print, 2: lambda text: machine.print(text, 2)}
        self._substitution_status = 0
        """Exit code of the last `$(...)`."""
        self._condition_depth = 0
        """Number of enclosing conditions, in which `set -e` does not apply."""

    def print(self, text: str, descriptor: int = 1) -> None:
        """Write to a file descriptor."""
        self._sinks[descriptor](text)

    def make_subshell(self) -> "Shell":
        """Return a subshell with a copy of this shell's state."""
        other = Shell(self.machine, self.programs, self.variables)
        other.exported, other.functions = dict(self.exported), dict(self.functions)
        other.arguments, other.name, other.is_bash = list(self.arguments), self.name, self.is_bash
        other.exits_on_error, other.fails_on_unset = self.exits_on_error, self.fails_on_unset
        other.status, other.stdin = self.status, self.stdin
        other._sinks, other._condition_depth = dict(self._sinks), self._condition_depth
        return other

    def reset_conditions(self) -> None:
        """Apply `set -e` again although the caller is evaluating a condition."""
        self._condition_depth = 0

    def run_script(self, script: Script) -> int:
        """Interpret a script to its end; return the exit code of the shell."""
        try:
            self.interpret(script)
        except ShellExit as end:
            return end.code & 255
        except ParameterError as failure:
            self.print(f"{self.name}: {failure.text}\n", 2)
            # bash and the POSIX shells differ in the exit code of a parameter error.
            return 127 if self.is_bash else 2
        except ControlFlow:
            return self.status
        return self.status

    def capture_output(self, script: Script) -> str:
        """Return the output of a script, as `$(...)` does."""
        other, texts = self.make_subshell(), list[str]()
        other._sinks[1] = texts.append
        self._substitution_status = other.run_script(script)
        return check_length("".join(texts))

    def interpret(self, script: Script) -> int:
        """Interpret a script in this shell."""
        for chain in script:
            if chain.background:
                self._start_background(chain)
                self.status = 0
            else:
                self._run_chain(chain)
        return self.status

    def _start_background(self, chain: Chain) -> None:
        """Start a background command without advancing the time of this shell."""
        other, began = self.make_subshell(), self.machine.now
        try:
            other._run_chain(chain)
            task = BackgroundTask(self.machine.now, other.status)
        except ShellExit as end:
            task = BackgroundTask(self.machine.now, end.code & 255)
        except (Endless, PastHorizon):
            task = BackgroundTask(ENDLESS)
        except Unsupported:
            task = BackgroundTask(None)
        # Background commands are interpreted immediately, from the time at which they start; `wait` then advances the
        # time.
        self.machine.go_back_to(began)
        self.tasks.append(task)

    def wait(self) -> int:
        """Wait for all background commands."""
        for task in self.tasks:
            if task.done_at is None:
                raise Unsupported
            self.machine.sleep(max(0.0, task.done_at - self.machine.now))
        code = self.tasks[-1].code if self.tasks else 0
        self.tasks = []
        return code

    def _run_chain(self, chain: Chain) -> None:
        rest = list(chain.rest)
        self._run_pipeline(chain.first, is_last=not rest)
        for index, (operator, pipeline) in enumerate(rest):
            # `&&` and `||` have equal precedence: each is decided by the status of all before it.
            if (operator == "&&") == (self.status == 0):
                self._run_pipeline(pipeline, is_last=index == len(rest) - 1)

    def _run_pipeline(self, pipeline: Pipeline, *, is_last: bool) -> None:
        # `set -e` ignores the failure of a negated pipeline and of all but the last one of a chain.
        guarded = pipeline.negated or not is_last
        self._condition_depth += guarded
        try:
            if len(pipeline.commands) == 1:
                self.status = self.run_command(pipeline.commands[0])
            else:
                self._run_connected(pipeline.commands)
        finally:
            self._condition_depth -= guarded
        if pipeline.negated:
            self.status = int(self.status == 0)
        elif self.status and self.exits_on_error and not (guarded or self._condition_depth):
            raise ShellExit(self.status)

    def _run_connected(self, commands: Sequence[Command]) -> None:
        """Connect the commands of a pipeline."""
        text = self.stdin
        for command in commands:
            other, texts = self.make_subshell(), list[str]()
            other.stdin = text
            if command is not commands[-1]:
                other._sinks[1] = texts.append
            self.status = other.run_script((Chain(Pipeline((command,))),))
            text = check_length("".join(texts))

    def run_command(self, command: Command) -> int:
        """Interpret one command with its redirections; return its exit code."""
        self.machine.count_steps()
        before = self._sinks, self.stdin
        self.machine.depth += 1
        try:
            if self.machine.depth > DEPTH_MAX:
                raise Unsupported
            if command.redirects:
                self._sinks = dict(self._sinks)
            try:
                for redirect in command.redirects:
                    self._apply_redirect(redirect)
            except _RedirectFailed as failure:
                before[0][2](f"{self.name}: {failure}\n")
                return 1
            return self._run_kind(command)
        finally:
            self._sinks, self.stdin = before
            self.machine.depth -= 1

    def _apply_redirect(self, redirect: Redirect) -> None:
        target = require_known(expand_to_text(self, redirect.target))
        machine = self.machine
        if redirect.operator == "<":
            self.stdin = self._read_redirect(target)
            return
        if redirect.operator in (">&", "<&"):
            if target == "-":
                self._sinks[redirect.descriptor] = lambda text: None
            elif target.isdigit() and int(target) in self._sinks:
                self._sinks[redirect.descriptor] = self._sinks[int(target)]
            else:
                raise Unsupported
            return
        if redirect.operator == ">":
            # Truncated even if nothing is written; all output is then appended.
            try:
                machine.write(target, "")
            except FileError as error:
                raise _RedirectFailed(f"can't create {target}: {error.text}") from None
        both = (1, 2) if redirect.descriptor < 0 else (redirect.descriptor,)
        for descriptor in both:
            self._sinks[descriptor] = lambda text: machine.write(target, text, appended=True)

    def _read_redirect(self, target: str) -> str:
        """Return the text of a file that standard input is redirected to."""
        if target == "/dev/null":
            return ""
        try:
            text = self.machine.files.read(target)
        except FileError as error:
            raise _RedirectFailed(f"can't open {target}: {error.text}") from None
        if text is None:
            raise _RedirectFailed(f"can't open {target}: no such file")
        return text

    def _run_kind(self, command: Command) -> int:
        match command.kind:
            case SimpleCommand() as simple:
                return self._run_simple(simple)
            case If(branches=branches):
                return self._run_if(branches)
            case While() as loop:
                return self._run_while(loop)
            case For() as loop:
                return self._run_for(loop)
            case Case() as choice:
                return self._run_case(choice)
            case Group(body=body, is_subshell=apart):
                return self.make_subshell().run_script(body) if apart else self.interpret(body)
            case ConditionCommand(words=words):
                return int(not conditions.evaluate_double_brackets(self, words))
            case ArithmeticCommand(expression=expression):
                return int(evaluate_arithmetic(self, expression) == 0)
            case FunctionDefinition(name=name, body=body):
                self.functions[name] = body
                return 0
            case UnsupportedRest():
                raise Unsupported

    def _run_simple(self, simple: SimpleCommand) -> int:
        self._substitution_status = 0
        fields = expand_to_fields(self, simple.words)
        if not fields:
            for name, word in simple.assignments:
                self.variables[name] = expand_to_text(self, word)
            return self._substitution_status
        if not simple.assignments:
            return self.run(fields)
        other = self.make_subshell()
        for name, word in simple.assignments:
            other.variables[name] = expand_to_text(self, word)
            other.exported[name] = None
        # These change the shell itself, but with assignments before it the command runs in a subshell.
        if fields[0] in self.functions or fields[0] in ("exit", "export", "exec", "set"):
            raise Unsupported
        return other.run(fields)

    def run(self, fields: Sequence[str]) -> int:
        """Run a function or a program; raise Unsupported if it is unknown."""
        name = require_known(fields[0])
        if (body := self.functions.get(name)) is not None:
            return self._call_function(body, fields[1:])
        program = self.programs(name)
        try:
            if program is None:
                raise Unsupported
            return program(self, fields[1:])
        except Unsupported:
            self.machine.unsupported_command = self.machine.unsupported_command or " ".join(fields)
            raise

    def _call_function(self, body: Command, arguments: Sequence[str]) -> int:
        before, self.arguments = self.arguments, list(arguments)
        try:
            return self.run_command(body)
        except ControlFlow as leaving:
            if leaving.how != "return":
                raise
            return self.status
        finally:
            self.arguments = before

    def _is_true(self, condition: Script) -> bool:
        self._condition_depth += 1
        try:
            return self.interpret(condition) == 0
        finally:
            self._condition_depth -= 1

    def _run_if(self, branches: Sequence[tuple[Script | None, Script]]) -> int:
        for condition, body in branches:
            if condition is None or self._is_true(condition):
                return self.interpret(body)
        return 0

    def _run_while(self, loop: While) -> int:
        # With `set -e` a failing command ends the loop.
        if self.machine.horizon == ENDLESS and is_endless(loop) and not self.exits_on_error:
            raise Endless
        code, before = 0, None
        while self._is_true(loop.condition) != loop.until:
            if self.machine.horizon == ENDLESS:
                present = (dict(self.variables), self.machine.files.state(), self.machine.draws)
                # A round that changed no variable, no file and read nothing random will repeat for ever.
                if present == before and not self.tasks and not self.machine.files.has_pending:
                    raise Endless
                before = present
            try:
                code = self.interpret(loop.body)
            except ControlFlow as leaving:
                if self._ends_loop(leaving):
                    return 0
            self.machine.count_steps()
        return code

    def _run_for(self, loop: For) -> int:
        code = 0
        values = list(self.arguments) if loop.words is None else expand_to_fields(self, loop.words)
        for value in values:
            self.variables[loop.name] = value
            try:
                code = self.interpret(loop.body)
            except ControlFlow as leaving:
                if self._ends_loop(leaving):
                    return 0
        return code

    def _ends_loop(self, leaving: ControlFlow) -> bool:
        """Return whether the loop ends rather than continues."""
        if leaving.how == "return":
            raise leaving
        if leaving.levels > 1:
            raise ControlFlow(leaving.how, leaving.levels - 1)
        return leaving.how == "break"

    def _run_case(self, choice: Case) -> int:
        text = expand_to_text(self, choice.word)
        for patterns, body in choice.arms:
            if any(matches(text, expand_to_pattern(self, pattern)) for pattern in patterns):
                return self.interpret(body)
        return 0


def sort_by_time(printed: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the output of concurrent commands in order of time."""
    return sorted(printed, key=lambda one: one.at)
