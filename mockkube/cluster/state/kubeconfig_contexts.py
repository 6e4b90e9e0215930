"""Contexts of a cluster in the user's kubeconfigs, recorded so that any process can remove them."""

import json
import logging
from contextlib import suppress
from pathlib import Path

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.kubeconfig import make_context_name, merge_into_kubeconfig, remove_from_kubeconfig
from mockkube.cluster.state.state_directory import StateDirectory, make_unwritable_error
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KubeconfigContexts:
    """Contexts of one cluster in the user's kubeconfigs."""

    directory: StateDirectory
    clock: Clock

    async def add(self, path: Path, *, set_context: bool) -> None:
        """Merge the cluster's own kubeconfig into a file, and record it; StartError if that fails."""
        own = self.directory.kubeconfig.read_text()
        previous = await merge_into_kubeconfig(path, own, set_context=set_context, clock=self.clock)
        merged = self._load_merged()
        if previous == make_context_name(
            self.directory.name
        ):  # ours from before: what it replaced is remembered already
            previous = merged.get(str(path))
        try:
            write_atomically(self.directory.merged, json.dumps({**merged, str(path): previous}) + "\n")
        except OSError as error:
            raise make_unwritable_error(self.directory.path, error) from None

    async def remove_all(self) -> None:
        """Remove the cluster from all recorded files; log those that cannot be changed."""
        for path, previous in self._load_merged().items():
            context = make_context_name(self.directory.name)
            try:
                await remove_from_kubeconfig(Path(path), context, previous_context=previous, clock=self.clock)
            except StartError as error:
                _log.warning("context %s is still there: %s", context, error)
        with suppress(OSError):
            self.directory.merged.unlink(missing_ok=True)

    def _load_merged(self) -> dict[str, str | None]:
        """Return the recorded files with their previous current context."""
        try:
            merged = json.loads(self.directory.merged.read_bytes())
        except (OSError, ValueError):
            return {}
        return merged if isinstance(merged, dict) else {}
