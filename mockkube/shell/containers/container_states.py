"""Changes to running containers from outside: files that commands of exec have changed, and input of attached clients.

Pods also leave files here that outlive them on their nodes.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.file_system import FileWrite
from mockkube.shell.machine.standard_input import StandardInput

PLACES_MAX: Final = 1000
"""Containers and volumes whose changes are kept; those of the one that was changed longest ago are forgotten."""
SIZE_MAX: Final = 4 * 1024 * 1024
"""Characters of all changes to one of them."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A write at a time of day, and who made it."""

    time: datetime
    writer: str
    write: FileWrite


@dataclass(slots=True)
class _Changes:
    """Changes to the files of one container run, or of one volume."""

    entries: list[_Change] = field(default_factory=list)
    size: int = 0


class ContainerStates:
    """Changes to files by run of a container, and by volume for what its containers share."""

    def __init__(self) -> None:
        self._changes: OrderedDict[tuple[str, ...], _Changes] = OrderedDict()
        self._inputs: OrderedDict[str, StandardInput] = OrderedDict()
        self.listeners: dict[Callable[[ReadOnlyObject], None], None] = {}
        """Called with a pod whose containers have changed."""
        self.kubelets: dict[Callable[[str], bool], None] = {}
        """For kubelets that share the nodes with other processes: whether they simulate a node."""

    def serves(self, node: str) -> bool:
        """Return whether a kubelet that shares the nodes with other processes simulates this one."""
        return any(owns(node) for owns in self.kubelets)

    def open_input(self, pod: ReadOnlyObject, container: str, run: int) -> StandardInput:
        """Return the input of a run of a container, to write to."""
        name = name_run(pod, container, run)
        self._inputs.setdefault(name, StandardInput())
        self._inputs.move_to_end(name)
        if len(self._inputs) > PLACES_MAX:
            self._inputs.popitem(last=False)
        return self._inputs[name]

    def find_input(self, pod: ReadOnlyObject, container: str, run: int) -> StandardInput:
        """Return the input of a run of a container, to read from; it is open and empty if no client has attached."""
        return self._inputs.get(name_run(pod, container, run)) or StandardInput()

    def notify(self, pod: ReadOnlyObject) -> None:
        """Tell the kubelets that containers of a pod have changed."""
        for listener in tuple(self.listeners):
            listener(pod)

    def record(
        self,
        pod: ReadOnlyObject,
        container: str,
        run: int,
        started: datetime,
        writes: Sequence[FileWrite],
        *,
        writer: str = "",
    ) -> None:
        """Keep what a command has written; changes that are too large are dropped.

        The writer is the run whose own command wrote the files: it is interpreted again and again, and must not find
        them before it has written them.
        """
        for write in writes:
            key = _key(pod, container, run, write.volume)
            changes = self._changes.setdefault(key, _Changes())
            changes.size += _size_of(write)
            if changes.size <= SIZE_MAX:
                changes.entries.append(_Change(started + timedelta(seconds=write.at), writer, write))
            self._changes.move_to_end(key)
        while len(self._changes) > PLACES_MAX:
            self._changes.popitem(last=False)

    def record_run(
        self, pod: ReadOnlyObject, container: str, run: int, started: datetime, writes: Sequence[FileWrite]
    ) -> None:
        """Keep what a run's own command writes to directories of its node, in place of what was known of it before."""
        writer = name_run(pod, container, run)
        written = [one for one in writes if one.volume and find_host_path(pod, one.volume)]
        for key in dict.fromkeys(_key(pod, container, run, one.volume) for one in written):
            if (changes := self._changes.get(key)) is not None:
                changes.entries = [one for one in changes.entries if one.writer != writer]
                changes.size = sum(_size_of(one.write) for one in changes.entries)
        self.record(pod, container, run, started, written, writer=writer)

    def find_writes(
        self, pod: ReadOnlyObject, container: ReadOnlyObject, run: int, started: datetime
    ) -> list[FileWrite]:
        """Return the changes by others to the files of a run, in seconds after its start."""
        if not self._changes:
            return []
        own, found = name_run(pod, container["name"], run), list[FileWrite]()
        for volume in dict.fromkeys(("", *(one["name"] for one in container.get("volumeMounts") or ()))):
            changes = self._changes.get(_key(pod, container["name"], run, volume))
            for change in () if changes is None else changes.entries:
                if change.writer != own:
                    seconds = max(0.0, (change.time - started).total_seconds())
                    found.append(replace(change.write, at=seconds, volume=volume))
        return found


def _size_of(write: FileWrite) -> int:
    return len(write.path) + len(write.file.text if write.file is not None else "")


def name_run(pod: ReadOnlyObject, container: str, run: int) -> str:
    """Return the name of a run of a container as a writer of files."""
    return f"{pod['metadata']['uid']}/{container}/{run}"


def find_host_path(pod: ReadOnlyObject, volume: str) -> str:
    """Return the directory of the node that a volume is, else an empty text."""
    for one in pod["spec"].get("volumes") or ():
        if one["name"] == volume and "hostPath" in one:
            return str(one["hostPath"].get("path", ""))
    return ""


def _key(pod: ReadOnlyObject, container: str, run: int, volume: str) -> tuple[str, ...]:
    uid = str(pod["metadata"]["uid"])
    # A restarted container has a new file system, but the same volumes.
    if not volume:
        return ("container", uid, container, str(run))
    if path := find_host_path(pod, volume):
        return ("node", str(pod["spec"].get("nodeName")), path)
    return ("volume", uid, volume)
