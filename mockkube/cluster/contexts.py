"""Into which kubeconfigs of the user a cluster was merged, so that whoever ends it takes it out again."""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mockkube.cluster.errors import StartError
from mockkube.cluster.files import write_atomically
from mockkube.cluster.kubeconfig import context_name, merge_into, remove_from
from mockkube.cluster.state import StateDirectory, unwritable
from mockkube.runtime.clock import Clock

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of one cluster in files that belong to the user."""

    directory: StateDirectory
    clock: Clock

    async def add(self, path: Path, *, set_context: bool) -> None:
        """Merge the cluster's own kubeconfig into a file, and remember it; StartError if that cannot be done."""
        own = self.directory.kubeconfig.read_text()
        previous = await merge_into(path, own, set_context=set_context, clock=self.clock)
        merged = self._merged()
        if previous == context_name(self.directory.name):  # ours from before: what it replaced is remembered already
            previous = merged.get(str(path))
        try:
            write_atomically(self.directory.merged, json.dumps({**merged, str(path): previous}) + "\n")
        except OSError as error:
            raise unwritable(self.directory.path, error) from None

    async def remove_all(self) -> None:
        """Take the cluster out of every file it was merged into; one that refuses is left to the user, and logged."""
        for path, previous in self._merged().items():
            context = context_name(self.directory.name)
            try:
                await remove_from(Path(path), context, previous_context=previous, clock=self.clock)
            except StartError as error:
                _log.warning("context %s is still there: %s", context, error)
        with suppress(OSError):
            self.directory.merged.unlink(missing_ok=True)

    def _merged(self) -> dict[str, str | None]:
        """Return the files, each with the context that was current before."""
        try:
            merged = json.loads(self.directory.merged.read_bytes())
        except (OSError, ValueError):
            return {}
        return merged if isinstance(merged, dict) else {}
