"""Step `kubectl`: run a command line with the built-in commands or the real kubectl."""

from typing import Annotated, Any, ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kubectl.command_line import parse_command_line
from mockkube.scenario.kubectl.commands import run_command
from mockkube.scenario.kubectl.pipes import apply_pipes, split_pipes
from mockkube.scenario.responses import Output, bind_outputs
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.steps.script import CommandStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class KubectlStep(ScenarioStep):
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
        except StepFailed as error:
            if self.refused and self.refused in str(error):
                return
            raise
        if self.refused:
            raise StepFailed(f"kubectl {self.command} was not refused; expected: {self.refused}")
        if printed:
            world.context.add_log(printed)
        if self.prints not in printed:
            raise StepFailed(f"kubectl {self.command} printed {printed!r}, without {self.prints!r}")
        if self.output is not None and printed.rstrip("\n") != self.output.rstrip("\n"):
            raise StepFailed(f"kubectl {self.command} printed {printed!r} instead of {self.output!r}")
        if found := [text for text in self.lacks if text in printed]:
            raise StepFailed(f"kubectl {self.command} printed {printed!r}, with {found[0]!r}")
        bind_outputs(world, self.outputs, printed)

    async def _run(self, world: World) -> str:
        _, pipes = split_pipes(self.command)
        if world.context.kubectl:
            return apply_pipes(await self._run_real(world), pipes)
        return apply_pipes(await run_command(world, self.command), pipes)

    async def _run_real(self, world: World) -> str:
        """Run the real kubectl and return its output."""
        # The step `command` writes the output to the log; it is taken out again, because pipes may still change it.
        log_length = len(world.context.log)
        line = parse_command_line(self.command)
        words = [
            line.verb,
            *line.words,
            *(f"{name}={value}" for name, values in line.flags.items() for value in values),
        ]
        where = [] if "--namespace" in line.flags else [f"--namespace={world.context.namespace}"]
        await CommandStep(entrypoint=world.context.kubectl, args=(*words, *where)).play(world)
        printed = "\n".join(world.context.log[log_length:])
        del world.context.log[log_length:]
        return printed
