"""What a component says of servers that do not answer: once, however many of its caches ask, until it is answered."""

import logging
from typing import Final

from mockkube.api.errors import ApiError, Unavailable

_LOG: Final = logging.getLogger("mockkube.client")


class Outages:
    """What one component has said so far."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._told: dict[str, None] = {}

    def failed(self, name: str, error: ApiError, seconds: float) -> None:
        """Tell of a cache that was refused, and asks again after so many seconds.

        That nobody answers is the same for all caches; a refusal is about one. Told already, it is for whoever debugs.
        """
        subject = self._owner if isinstance(error, Unavailable) else name
        level = logging.DEBUG if subject in self._told else logging.WARNING
        self._told[subject] = None
        shown = name if level == logging.DEBUG else subject
        _LOG.log(level, "%s: %s; asking again in %.1f s", shown, error, seconds)

    def answered(self, name: str) -> None:
        """Hear that a cache got what it asked for: what fails from now on is news."""
        self._told.pop(name, None)
        self._told.pop(self._owner, None)
