"""certificatesigningrequest-cleaner-controller: deletes old CertificateSigningRequests, hourly.

upstream 1.36: pkg/controller/certificates/cleaner/cleaner.go
"""

from datetime import datetime, timedelta
from typing import ClassVar, Final

from mockkube.api.errors import NotFound
from mockkube.client.protocol import Key
from mockkube.controllers.certificates.requests import deletion_time
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue

PERIOD: Final = timedelta(hours=1)
_KIND: Final = "CertificateSigningRequest"


def next_check_after(started: datetime, moment: datetime) -> datetime:
    """Return the first hourly check since the start at which a moment has passed."""
    return max(started, started + ((moment - started) // PERIOD + 1) * PERIOD)


class CSRCleanerController(Controller):
    """Cleaner of CertificateSigningRequests; keys are requests."""

    name: ClassVar[str] = "certificatesigningrequest-cleaner-controller"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        # Upstream polls all requests once an hour. A key per request needs no step in between, but ends at the same
        # hours.
        self._started = self.clock.now()
        self.requests = self.watched_informer(_KIND)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Delete a request at the first check after its retention, else come back then."""
        csr = self.requests.get(key)
        until = None if csr is None else deletion_time(csr)
        if until is None:
            return DONE
        left = (next_check_after(self._started, until) - self.clock.now()).total_seconds()
        if left > 0:
            return Requeue(after=left)
        try:
            await self.client.delete(_KIND, key)
        except NotFound:
            return DONE
        return DONE
