"""Decide how a container exits: by annotation, else by its command, else by a default."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.kubelet.containers.container_behavior import ContainerExit
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.programs.entrypoints import has_command

# Returns the exit of a container from its restart count and start time; None while it runs until stopped.
FindExit = Callable[[int, datetime], ContainerExit | None]


def make_exit_finder(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    annotated: ContainerExit | None,
    default: ContainerExit | None,
    start: ContainerStart,
) -> FindExit:
    """Return a function that decides how a container exits.

    `annotated` (from annotations) comes first; `default` applies where the command does not decide. `start` has what
    the container knows about other objects.
    """

    def ends(run: int, began: datetime) -> ContainerExit | None:
        if annotated is not None:
            return annotated
        if not has_command(container):
            return default
        # The shell interpreter is 2,000 lines that most clusters never need.
        from mockkube.shell.containers.interpreter import (  # loaded for the first container that has a command
            ContainerEnd,
            interpret,
        )

        outcome = interpret(pod, container, replace(start, run=run, began=began))
        if outcome.writes and start.states is not None:
            start.states.record_run(pod, container["name"], run, began, outcome.writes)
        if outcome.end is ContainerEnd.EXITS:
            # Clients may have sent bytes that are no text, which no object can hold.
            message = outcome.message.encode(errors="replace").decode()
            return ContainerExit(outcome.code, outcome.seconds, message)
        if outcome.end is ContainerEnd.RUNS or default is None:
            return None
        # The command did some work before a part that the interpreter cannot decide; the default follows that work.
        return ContainerExit(default.code, outcome.seconds + default.after_seconds)

    return ends
