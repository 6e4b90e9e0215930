"""Steps `script` and `command`: run programs in real time, with the cluster's kubeconfig if it has an address."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import Annotated, Any, ClassVar, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed, StepNotSupported, StepTimedOut
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.matching import find_differences
from mockkube.scenario.responses import Output, bind_outputs
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

OUTPUT_BYTES_MAX: Final = 1 << 20
TIMEOUT: Final = Seconds(60.0)


@dataclass(frozen=True)
class EnvironmentVariable:
    """Environment variable of a program."""

    name: Annotated[str, "its name"]
    value: Annotated[str, "its value"]


@dataclass(frozen=True)
class ProgramStep(ScenarioStep):
    """Run a program. `$stdout`, `$stderr` and `$error` can be checked; without a check it must succeed."""

    env: Annotated[tuple[EnvironmentVariable, ...], "variables of its environment"] = ()
    timeout: Annotated[Seconds, "how long it may take, in real time"] = TIMEOUT
    check: Annotated[Tree | None, "what must hold: expressions like ($stdout == 'yes')"] = None
    outputs: Annotated[tuple[Output, ...], "names for what it wrote: (json_parse($stdout))"] = ()
    skip_log_output: Annotated[bool, "leave what it wrote out of the log"] = False

    async def run_program(self, world: World, *arguments: str) -> None:
        """Run the program, check its result and bind its outputs."""
        bound_variables = {f"MOCKKUBE_{name.upper()}": str(value) for name, value in world.context.bindings.items()}
        # Variables of the step win over all others, those of the cluster over the environment of mockkube itself.
        own = {one.name: one.value for one in self.env}
        try:
            cluster_variables: Mapping[str, str] = await world.environment()
        except StepNotSupported:
            cluster_variables = {"KUBECONFIG": os.devnull}  # nothing it starts may find a cluster of somebody else
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                cwd=world.context.directory,
                env={**os.environ, **cluster_variables, **bound_variables, "NAMESPACE": world.context.namespace, **own},
                start_new_session=True,  # so that what it starts can be ended with it
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise StepFailed(f"{arguments[0]}: {error.strerror}") from None
        out, err = await self._wait_for_output(process)
        self._check_result(world, process.returncode or 0, out, err)

    async def _wait_for_output(self, process: asyncio.subprocess.Process) -> tuple[str, str]:
        """Return the output of the program; kill its process group at the timeout."""
        try:
            async with asyncio.timeout(self.timeout):
                out, err = await process.communicate()
        except TimeoutError:
            raise StepTimedOut(f"the program did not end within {self.timeout:g} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return _decode_output(out), _decode_output(err)

    def _check_result(self, world: World, code: int, out: str, err: str) -> None:
        """Raise StepFailed if the result is not as expected; otherwise bind the outputs."""
        error = f"exit status {code}" if code else None
        if not self.skip_log_output:
            for text in filter(None, (out, err)):
                world.context.add_log(text)
        scope = {**world.context.bindings, "stdout": out, "stderr": err, "error": error}
        if self.check is None and error is not None:
            raise StepFailed(f"{error}: {(err or out)[-500:]}")
        if self.check is not None and (found := find_differences(self.check, {}, scope)):
            raise StepFailed("; ".join(map(str, found)) + (f" ({error}: {err[-300:]})" if error else ""))
        # These three variables exist for this step's outputs only; variables of the scenario with these names come
        # back.
        previous = dict(world.context.bindings)
        world.context.bindings.update(scope)
        try:
            bind_outputs(world, self.outputs, _parse_output(out))
        finally:
            for name in ("stdout", "stderr", "error"):
                world.context.bindings.pop(name, None)
                if name in previous:
                    world.context.bindings[name] = previous[name]


def _decode_output(output: bytes) -> str:
    return output[:OUTPUT_BYTES_MAX].decode(errors="replace").rstrip("\n")


def _parse_output(text: str) -> Any:
    """Return the output parsed as JSON, else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class ScriptStep(ProgramStep):
    """Run a shell script."""

    verb: ClassVar[str] = "script"

    content: Annotated[Tree, "what the shell is to run"] = field(default=Tree(""))
    shell: Annotated[str, "which shell"] = "sh"

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept the content alone."""
        return {"content": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Run the script."""
        await self.run_program(world, self.shell, "-c", str(self.content))


@dataclass(frozen=True)
class CommandStep(ProgramStep):
    """Run a program with arguments."""

    verb: ClassVar[str] = "command"

    entrypoint: Annotated[str, "the program"] = ""
    args: Annotated[tuple[str, ...], "its arguments"] = ()

    def complaint(self) -> str:
        """Return an error without a program."""
        return "" if self.entrypoint else "entrypoint is missing: the program to run"

    async def play(self, world: World) -> None:
        """Run the program."""
        await self.run_program(world, self.entrypoint, *self.args)
