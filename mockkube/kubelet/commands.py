"""Decide how a container exits: by annotation, else by its command, else by a default."""

from collections.abc import Callable
from datetime import datetime

from mockkube.api.types import ReadOnlyObject
from mockkube.kubelet.container_behavior import Exit
from mockkube.shell.entrypoints import has_command

# Returns the exit of a container from its restart count and start time; None while it runs until stopped.
Ends = Callable[[int, datetime], Exit | None]


def ends_of(pod: ReadOnlyObject, container: ReadOnlyObject, given: Exit | None, unsaid: Exit | None) -> Ends:
    """Return a function that decides how a container exits.

    `annotated` (from annotations) comes first; `default` applies where the command does not decide.
    """

    def ends(run: int, began: datetime) -> Exit | None:
        if given is not None:
            return given
        if not has_command(container):
            return unsaid
        # The shell interpreter is 2,000 lines that most clusters never need.
        from mockkube.shell.environment import ContainerStart
        from mockkube.shell.interpreter import (  # loaded for the first container that has a command
            ContainerEnd,
            interpret,
        )

        outcome = interpret(pod, container, ContainerStart(run, began))
        if outcome.end is ContainerEnd.EXITS:
            return Exit(outcome.code, outcome.seconds, outcome.message)
        if outcome.end is ContainerEnd.RUNS or unsaid is None:
            return None
        # The command did some work before a part that the interpreter cannot decide; the default follows that work.
        return Exit(unsaid.code, outcome.seconds + unsaid.after_seconds)

    return ends
