"""Contexts of a cluster in the user's kubeconfigs, recorded so that any process can remove them."""

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
    """Contexts of one cluster in the user's kubeconfigs."""

    directory: StateDirectory
    clock: Clock

    async def add(self, path: Path, *, set_context: bool) -> None:
        """Merge the cluster's own kubeconfig into a file, and record it; StartError if that fails."""
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
        """Remove the cluster from all recorded files; log those that cannot be changed."""
        for path, previous in self._merged().items():
            context = context_name(self.directory.name)
            try:
                await remove_from(Path(path), context, previous_context=previous, clock=self.clock)
            except StartError as error:
                _log.warning("context %s is still there: %s", context, error)
        with suppress(OSError):
            self.directory.merged.unlink(missing_ok=True)

    def _merged(self) -> dict[str, str | None]:
        """Return the recorded files with their previous current context."""
        try:
            merged = json.loads(self.directory.merged.read_bytes())
        except (OSError, ValueError):
            return {}
        return merged if isinstance(merged, dict) else {}
