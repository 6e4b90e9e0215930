"""Log of unreachable servers: once per outage of a component, however many of its informers fail."""

import logging
from typing import Final

from mockkube.api.errors import ApiError, Unavailable

_LOG: Final = logging.getLogger("mockkube.client")


class UnreachableServers:
    """Servers and kinds with failures that one component has logged."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._logged: dict[str, None] = {}

    def log_failure(self, name: str, error: ApiError, seconds: float) -> None:
        """Log that an informer's request failed and is retried after so many seconds.

        An unreachable server is the same news for all informers of a component, so it is logged once per component; an
        error answer concerns one informer. Repetitions are logged for debugging only.
        """
        subject = self._owner if isinstance(error, Unavailable) else name
        level = logging.DEBUG if subject in self._logged else logging.WARNING
        self._logged[subject] = None
        shown = name if level == logging.DEBUG else subject
        _LOG.log(level, "%s: %s; retrying in %.1f s", shown, error, seconds)

    def clear(self, name: str) -> None:
        """Forget the failures of an informer that succeeded, so that the next one is logged again."""
        self._logged.pop(name, None)
        self._logged.pop(self._owner, None)
