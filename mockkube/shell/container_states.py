"""What happened to running containers from outside: files that commands of exec have changed."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CONTAINERS_MAX: Final = 1000
"""Containers whose changes are kept; those of the one that was used longest ago are forgotten."""
BYTES_MAX: Final = 4 * 1024 * 1024
"""Size of the changes to one container."""


@dataclass(frozen=True, slots=True)
class _ChangedFiles:
    """Files of one run of a container that differ from those of its own command; None: removed."""

    run: int
    files: Mapping[str, str | None]


class ContainerStates:
    """Files that commands of exec have changed, by uid of the pod and name of the container."""

    def __init__(self) -> None:
        self._changes: OrderedDict[tuple[str, str], _ChangedFiles] = OrderedDict()

    def apply_changes(self, uid: str, container: str, run: int, files: Mapping[str, str]) -> dict[str, str]:
        """Return the files of a container's run with the changes of earlier commands."""
        found = self._changes.get((uid, container))
        changed = dict(files)
        # A restarted container has a new file system.
        if found is None or found.run != run:
            return changed
        self._changes.move_to_end((uid, container))
        for path, text in found.files.items():
            if text is None:
                changed.pop(path, None)
            else:
                changed[path] = text
        return changed

    def record_changes(
        self, uid: str, container: str, run: int, *, before: Mapping[str, str], after: Mapping[str, str]
    ) -> None:
        """Keep the difference between the files before and after a command; changes that are too large are dropped."""
        key = (uid, container)
        found = self._changes.get(key)
        kept = dict(found.files) if found is not None and found.run == run else {}
        changed: dict[str, str | None] = {path: text for path, text in after.items() if before.get(path) != text}
        changed |= dict.fromkeys(path for path in before if path not in after)
        if not changed:
            return
        kept |= changed
        if sum(len(path) + len(text or "") for path, text in kept.items()) > BYTES_MAX:
            return
        self._changes[key] = _ChangedFiles(run, kept)
        self._changes.move_to_end(key)
        if len(self._changes) > CONTAINERS_MAX:
            self._changes.popitem(last=False)
