"""How containers end: as annotations say; else as their command says; else as such containers do."""

from collections.abc import Callable
from datetime import datetime

from mockkube.api.types import ReadOnlyObject
from mockkube.kubelet.container_behavior import Exit
from mockkube.shell.entrypoints import has_command

Ends = Callable[[int, datetime], Exit | None]
"""How a container ends that has been restarted so often, and was started then; None: it runs until it is stopped."""


def ends_of(pod: ReadOnlyObject, container: ReadOnlyObject, given: Exit | None, unsaid: Exit | None) -> Ends:
    """Return how a container ends: as `given`, if that is said; `unsaid` where its command says nothing more."""

    def ends(run: int, began: datetime) -> Exit | None:
        if given is not None:
            return given
        if not has_command(container):
            return unsaid
        from mockkube.shell.environment import ContainerStart
        from mockkube.shell.interpreter import (  # loaded for the first container that has a command
            ContainerEnd,
            interpret,
        )

        said = interpret(pod, container, ContainerStart(run, began))
        if said.end is ContainerEnd.EXITS:
            return Exit(said.code, said.seconds, said.message)
        if said.end is ContainerEnd.RUNS or unsaid is None:
            return None
        return Exit(unsaid.code, said.seconds + unsaid.after_seconds)

    return ends
