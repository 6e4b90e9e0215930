"""A shell that follows the tree of a script: what it prints, how long it takes, how it ends. Nothing is executed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.shell import conditions
from mockkube.shell.expansion import Failed, fields_of, fits, known, number_of, pattern_of, text_of
from mockkube.shell.loops import goes_on_for_ever
from mockkube.shell.machine import ENDLESS, Endless, Late, Machine, Printed, bounded
from mockkube.shell.syntax import (
    Beyond,
    Case,
    Chain,
    Command,
    Define,
    For,
    Group,
    If,
    Let,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Test,
    Unread,
    While,
)  # fmt: skip

DEPTH_MAX: Final = 40
"""How deep commands stand in one another; beyond that a script is not read."""
Program = Callable[["Shell", Sequence[str]], int]
"""What a program does with its arguments; its exit code."""
Programs = Callable[[str], Program | None]


class Exits(Exception):
    """The shell ends with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Leaves(Exception):
    """A loop is left (`break`) or goes on with its next turn (`continue`); a function is left (`return`)."""

    def __init__(self, how: str, levels: int = 1) -> None:
        super().__init__(how)
        self.how, self.levels = how, levels


@dataclass(frozen=True, slots=True)
class Task:
    """What runs in the background: when it is done (ENDLESS: never), with which code; None: nobody knows."""

    done_at: float | None
    code: int = 0


class Shell:
    """One shell: its variables, its arguments, where its output goes."""

    def __init__(self, machine: Machine, programs: Programs, variables: Mapping[str, str]) -> None:
        self.machine, self.programs = machine, programs
        self.variables = dict(variables)
        self.exported = dict.fromkeys(variables)
        self.functions: dict[str, Command] = {}
        self.arguments: list[str] = []
        self.name = "sh"
        self.is_bash = False
        self.stops_on_error = False
        self.strict = False
        """Whether a variable that is not set is an error."""
        self.status = 0
        self.tasks: list[Task] = []
        self.stdin: str | None = None
        """What is to be read; None: what the container is given."""
        self._sinks: dict[int, Callable[[str], None]] = {1: machine.print, 2: machine.print}
        self._substituted = 0
        """The code of the last `$(...)`."""
        self._guarded = 0
        """Within how many conditions we are: there nothing is an error."""

    def print(self, text: str, descriptor: int = 1) -> None:
        """Write to where a descriptor leads."""
        self._sinks[descriptor](text)

    def child(self) -> "Shell":
        """Return a shell with copies of all that this one has."""
        other = Shell(self.machine, self.programs, self.variables)
        other.exported, other.functions = dict(self.exported), dict(self.functions)
        other.arguments, other.name, other.is_bash = list(self.arguments), self.name, self.is_bash
        other.stops_on_error, other.strict = self.stops_on_error, self.strict
        other.status, other.stdin = self.status, self.stdin
        other._sinks, other._guarded = dict(self._sinks), self._guarded
        return other

    def unguard(self) -> None:
        """Begin anew: what calls us may stand in a condition, which is nothing to us."""
        self._guarded = 0

    def finish(self, script: Script) -> int:
        """Follow a script to its end; return the shell's exit code."""
        try:
            self.follow(script)
        except Exits as end:
            return end.code & 255
        except Failed as failure:
            self.print(f"{self.name}: {failure.text}\n", 2)
            return 127 if self.is_bash else 2
        except Leaves:
            return self.status
        return self.status

    def capture(self, script: Script) -> str:
        """Return what a script prints, as `$(...)` does."""
        other, texts = self.child(), list[str]()
        other._sinks[1] = texts.append
        self._substituted = other.finish(script)
        return bounded("".join(texts))

    def follow(self, script: Script) -> int:
        """Follow a script in this shell."""
        for chain in script:
            if chain.background:
                self._begin(chain)
                self.status = 0
            else:
                self._chain(chain)
        return self.status

    def _begin(self, chain: Chain) -> None:
        """Run something beside; time goes on from here for us."""
        other, began = self.child(), self.machine.now
        try:
            other._chain(chain)
            task = Task(self.machine.now, other.status)
        except Exits as end:
            task = Task(self.machine.now, end.code & 255)
        except (Endless, Late):
            task = Task(ENDLESS)
        except Unread:
            task = Task(None)
        self.machine.now = began
        self.tasks.append(task)

    def wait(self) -> int:
        """Wait for all that runs in the background."""
        for task in self.tasks:
            if task.done_at is None:
                raise Unread
            self.machine.sleep(max(0.0, task.done_at - self.machine.now))
        code = self.tasks[-1].code if self.tasks else 0
        self.tasks = []
        return code

    def _chain(self, chain: Chain) -> None:
        rest = list(chain.rest)
        self._pipeline(chain.first, is_last=not rest)
        for index, (operator, pipeline) in enumerate(rest):
            if (operator == "&&") == (self.status == 0):
                self._pipeline(pipeline, is_last=index == len(rest) - 1)

    def _pipeline(self, pipeline: Pipeline, *, is_last: bool) -> None:
        guarded = pipeline.negated or not is_last
        self._guarded += guarded
        try:
            if len(pipeline.commands) == 1:
                self.status = self.command(pipeline.commands[0])
            else:
                self._pass_on(pipeline.commands)
        finally:
            self._guarded -= guarded
        if pipeline.negated:
            self.status = int(self.status == 0)
        elif self.status and self.stops_on_error and not (guarded or self._guarded):
            raise Exits(self.status)

    def _pass_on(self, commands: Sequence[Command]) -> None:
        """Give what each prints to the next."""
        text = self.stdin
        for command in commands:
            other, texts = self.child(), list[str]()
            other.stdin = text
            if command is not commands[-1]:
                other._sinks[1] = texts.append
            self.status = other.finish((Chain(Pipeline((command,))),))
            text = bounded("".join(texts))

    def command(self, command: Command) -> int:
        """Follow one command with its redirections; return its exit code."""
        self.machine.step()
        before = self._sinks, self.stdin
        self.machine.depth += 1
        try:
            if self.machine.depth > DEPTH_MAX:
                raise Unread
            if command.redirects:
                self._sinks = dict(self._sinks)
            for redirect in command.redirects:
                self._redirect(redirect)
            return self._kind(command)
        finally:
            self._sinks, self.stdin = before
            self.machine.depth -= 1

    def _redirect(self, redirect: Redirect) -> None:
        target = known(text_of(self, redirect.target))
        machine = self.machine
        if redirect.operator == "<":
            text = "" if target == "/dev/null" else machine.read(target)
            if text is None:
                raise Unread
            self.stdin = text
            return
        if redirect.operator in (">&", "<&"):
            if target == "-":
                self._sinks[redirect.descriptor] = lambda text: None
            elif target.isdigit() and int(target) in self._sinks:
                self._sinks[redirect.descriptor] = self._sinks[int(target)]
            else:
                raise Unread
            return
        if redirect.operator == ">":
            machine.write(target, "")
        both = (1, 2) if redirect.descriptor < 0 else (redirect.descriptor,)
        for descriptor in both:
            self._sinks[descriptor] = lambda text: machine.write(target, text, appended=True)

    def _kind(self, command: Command) -> int:
        match command.kind:
            case Simple() as simple:
                return self._simple(simple)
            case If(branches=branches):
                return self._if(branches)
            case While() as loop:
                return self._while(loop)
            case For() as loop:
                return self._for(loop)
            case Case() as choice:
                return self._case(choice)
            case Group(body=body, apart=apart):
                return self.child().finish(body) if apart else self.follow(body)
            case Test(words=words):
                return int(not conditions.holds_in_brackets(self, words))
            case Let(expression=expression):
                return int(number_of(self, expression) == 0)
            case Define(name=name, body=body):
                self.functions[name] = body
                return 0
            case Beyond():
                raise Unread

    def _simple(self, simple: Simple) -> int:
        self._substituted = 0
        fields = fields_of(self, simple.words)
        if not fields:
            for name, word in simple.assignments:
                self.variables[name] = text_of(self, word)
            return self._substituted
        if not simple.assignments:
            return self.run(fields)
        other = self.child()
        for name, word in simple.assignments:
            other.variables[name] = text_of(self, word)
            other.exported[name] = None
        if fields[0] in self.functions or fields[0] in ("exit", "export", "exec", "set"):
            raise Unread
        return other.run(fields)

    def run(self, fields: Sequence[str]) -> int:
        """Run a function or a program; Unread if nobody knows what it does."""
        name = known(fields[0])
        if (body := self.functions.get(name)) is not None:
            return self._call(body, fields[1:])
        program = self.programs(name)
        if program is None:
            raise Unread
        return program(self, fields[1:])

    def _call(self, body: Command, arguments: Sequence[str]) -> int:
        before, self.arguments = self.arguments, list(arguments)
        try:
            return self.command(body)
        except Leaves as leaving:
            if leaving.how != "return":
                raise
            return self.status
        finally:
            self.arguments = before

    def _holds(self, condition: Script) -> bool:
        self._guarded += 1
        try:
            return self.follow(condition) == 0
        finally:
            self._guarded -= 1

    def _if(self, branches: Sequence[tuple[Script | None, Script]]) -> int:
        for condition, body in branches:
            if condition is None or self._holds(condition):
                return self.follow(body)
        return 0

    def _while(self, loop: While) -> int:
        if self.machine.horizon == ENDLESS and goes_on_for_ever(loop) and not self.stops_on_error:
            raise Endless
        code, before = 0, None
        while self._holds(loop.condition) != loop.until:
            if self.machine.horizon == ENDLESS:
                present = (dict(self.variables), dict(self.machine.files), self.machine.draws)
                if present == before and not self.tasks:
                    raise Endless
                before = present
            try:
                code = self.follow(loop.body)
            except Leaves as leaving:
                if self._is_left(leaving):
                    return 0
            self.machine.step()
        return code

    def _for(self, loop: For) -> int:
        code = 0
        values = list(self.arguments) if loop.words is None else fields_of(self, loop.words)
        for value in values:
            self.variables[loop.name] = value
            try:
                code = self.follow(loop.body)
            except Leaves as leaving:
                if self._is_left(leaving):
                    return 0
        return code

    def _is_left(self, leaving: Leaves) -> bool:
        """Whether a loop ends for it, rather than going on with its next turn."""
        if leaving.how == "return":
            raise leaving
        if leaving.levels > 1:
            raise Leaves(leaving.how, leaving.levels - 1)
        return leaving.how == "break"

    def _case(self, choice: Case) -> int:
        text = text_of(self, choice.word)
        for patterns, body in choice.arms:
            if any(fits(text, pattern_of(self, pattern)) for pattern in patterns):
                return self.follow(body)
        return 0


def in_order(printed: Sequence[Printed]) -> list[Printed]:
    """Return what was printed side by side in the order of time."""
    return sorted(printed, key=lambda one: one.at)
