"""Wait, before a pod is bound, until its devices are prepared.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isPodReadyForBinding)
"""

from dataclasses import dataclass

from mockkube.api.fields import quoted
from mockkube.client.protocol import Key, key_of
from mockkube.features.versions import Version
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.plugins.dynamic_resources.ledger import Ledger
from mockkube.scheduler.plugins.dynamic_resources.note import Note
from mockkube.scheduler.plugins.dynamic_resources.readiness import DevicePreparationError, is_overdue, is_ready


@dataclass(frozen=True, slots=True)
class Preparation:
    """Checks the binding conditions of claims and the timeout."""

    ledger: Ledger
    clock: Clock
    seconds_max: float
    version: Version

    def begin(self, note: Note) -> None:
        """Set the deadline."""
        note.prepared_by = self.clock.monotonic() + self.seconds_max

    def status(self, note: Note) -> Status:
        """Return SUCCESS once all devices are prepared, WAIT before, and an error if preparation failed."""
        for index, claim in enumerate(note.claims):
            key = key_of(claim)
            current = self.ledger.claims.get(key)
            if current is None:
                return Status.error(f'could not find ResourceClaim "{key}"')
            note.claims[index] = current
            try:
                ready = is_ready(current)
            except DevicePreparationError as failure:
                return Status.error(self._failure_message(key, failure))
            if not ready:
                return self._waiting_status(note, key, late=is_overdue(current, self.clock.now(), self.seconds_max))
        return SUCCESS

    def _waiting_status(self, note: Note, key: Key, *, late: bool) -> Status:
        if late:
            return Status.error(self._timeout_message(key))
        if note.prepared_by is not None and self.clock.monotonic() >= note.prepared_by:
            return Status.error(
                f"device binding timeout{': context deadline exceeded' if self._has_failure_prefix else ''}"
            )
        return Status.wait("waiting for binding conditions")

    @property
    def _has_failure_prefix(self) -> bool:
        """True if messages start with the kind of failure."""
        return self.version >= Version(1, 36)

    def _timeout_message(self, key: Key) -> str:
        return (
            f"device binding timeout: claim={key.name}"
            if self._has_failure_prefix
            else f"claim {key.name} binding timeout"
        )

    def _failure_message(self, key: Key, failure: DevicePreparationError) -> str:
        why = f"reason={failure.reason}, message={quoted(failure.message)}"
        if self._has_failure_prefix:
            return f"device binding failed: claim={key.name}, {why}"
        return f"claim {key.name} binding failed: {why}"
