"""Wait, before a pod is bound, until its devices are prepared.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isPodReadyForBinding)
"""

from mockkube.api.fields import quote
from mockkube.client.protocol import Key, key_of
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import ClaimTracker
from mockkube.scheduler.plugins.dynamic_resources.devices.binding_conditions import (
    DevicePreparationError,
    is_overdue,
    is_ready,
)
from mockkube.scheduler.plugins.dynamic_resources.state import DynamicResourcesState


@dataclass(frozen=True, slots=True)
class DevicePreparation:
    """Checks the binding conditions of claims and the timeout."""

    claim_tracker: ClaimTracker
    clock: Clock
    seconds_max: float
    version: Version

    def start_timeout(self, claim_state: DynamicResourcesState) -> None:
        """Set the deadline."""
        claim_state.preparation_deadline = self.clock.monotonic() + self.seconds_max

    def check(self, claim_state: DynamicResourcesState) -> Status:
        """Return SUCCESS once all devices are prepared, WAIT before, and an error if preparation failed."""
        for index, claim in enumerate(claim_state.claims):
            key = key_of(claim)
            current = self.claim_tracker.claims.get(key)
            if current is None:
                return Status.error(f'could not find ResourceClaim "{key}"')
            claim_state.claims[index] = current
            try:
                ready = is_ready(current)
            except DevicePreparationError as failure:
                return Status.error(self._failure_message(key, failure))
            if not ready:
                return self._waiting_status(
                    claim_state, key, late=is_overdue(current, self.clock.now(), self.seconds_max)
                )
        return SUCCESS

    def _waiting_status(self, claim_state: DynamicResourcesState, key: Key, *, late: bool) -> Status:
        if late:
            return Status.error(self._timeout_message(key))
        if claim_state.preparation_deadline is not None and self.clock.monotonic() >= claim_state.preparation_deadline:
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
        why = f"reason={failure.reason}, message={quote(failure.message)}"
        if self._has_failure_prefix:
            return f"device binding failed: claim={key.name}, {why}"
        return f"claim {key.name} binding failed: {why}"
