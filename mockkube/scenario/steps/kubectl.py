"""Step `kubectl`: run a command line with the built-in commands or the real kubectl."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mockkube.scenario.errors import Failure
from mockkube.scenario.kubectl.commands import run
from mockkube.scenario.kubectl.line import parse
from mockkube.scenario.kubectl.pipes import split, through
from mockkube.scenario.outcomes import Output, bind
from mockkube.scenario.step import Step
from mockkube.scenario.steps.script import Command
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Kubectl(Step):
    """Run a kubectl command line; its output may be piped into `grep`."""

    verb: ClassVar[str] = "kubectl"

    command: Annotated[str, "the command line, without `kubectl`"]
    prints: Annotated[str, "a part of what it is to print"] = ""
    output: Annotated[str | None, "all of what it is to print, but for the line ends at its end"] = None
    lacks: Annotated[tuple[str, ...], "texts that what it prints must not have"] = ()
    refused: Annotated[str, "a part of the complaint it is to end with"] = ""
    outputs: Annotated[tuple[Output, ...], "names for what it prints"] = ()

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept a command line alone."""
        return {"command": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Run the command, and compare its output or error."""
        try:
            printed = await self._run(world)
        except Failure as error:
            if self.refused and self.refused in str(error):
                return
            raise
        if self.refused:
            raise Failure(f"kubectl {self.command} was not refused; expected: {self.refused}")
        if printed:
            world.scene.say(printed)
        if self.prints not in printed:
            raise Failure(f"kubectl {self.command} printed {printed!r}, without {self.prints!r}")
        if self.output is not None and printed.rstrip("\n") != self.output.rstrip("\n"):
            raise Failure(f"kubectl {self.command} printed {printed!r} instead of {self.output!r}")
        if found := [text for text in self.lacks if text in printed]:
            raise Failure(f"kubectl {self.command} printed {printed!r}, with {found[0]!r}")
        bind(world, self.outputs, printed)

    async def _run(self, world: World) -> str:
        _, pipes = split(self.command)
        if world.scene.kubectl:
            return through(await self._run_real(world), pipes)
        return through(await run(world, self.command), pipes)

    async def _run_real(self, world: World) -> str:
        """Run the real kubectl and return its output."""
        # The step `command` writes the output to the log; it is taken out again, because pipes may still change it.
        log_length = len(world.scene.log)
        line = parse(self.command)
        words = [
            line.verb,
            *line.words,
            *(f"{name}={value}" for name, values in line.flags.items() for value in values),
        ]
        where = [] if "--namespace" in line.flags else [f"--namespace={world.scene.namespace}"]
        await Command(entrypoint=world.scene.kubectl, args=(*words, *where)).play(world)
        printed = "\n".join(world.scene.log[log_length:])
        del world.scene.log[log_length:]
        return printed
