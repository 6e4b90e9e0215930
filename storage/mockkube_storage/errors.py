"""Errors of a store: one class for each reaction that a caller can have.

They carry data; `str()` is one line for a log or a terminal.
"""

import re

from mockkube_storage.model import Entry


class StoreError(Exception):
    """Base class of all errors of a store."""


class Conflict(StoreError):
    """Key that is not in the state that the write expected; `current` is its entry, None if absent."""

    def __init__(self, key: str, current: Entry | None) -> None:
        self.key = key
        self.current = current
        state = "does not exist" if current is None else f"is at revision {current.revision}"
        super().__init__(f"{key} {state}")


class Compacted(StoreError):
    """Requested revision that is compacted; `oldest` is the oldest to read or watch from."""

    def __init__(self, requested: int, oldest: int) -> None:
        self.requested = requested
        self.oldest = oldest
        super().__init__(f"revision {requested} has been compacted, the oldest available is {oldest}")


class FutureRevision(StoreError):
    """Requested revision that does not exist yet; `current` is the newest."""

    def __init__(self, requested: int, current: int) -> None:
        self.requested = requested
        self.current = current
        super().__init__(f"revision {requested} is in the future, the newest is {current}")


class Lagged(StoreError):
    """Watcher that was ended because it did not keep up; it may resume after `revision`."""

    def __init__(self, revision: int, events_max: int) -> None:
        self.revision = revision
        self.events_max = events_max
        super().__init__(f"watcher fell more than {events_max} events behind after revision {revision}")


class InvalidKey(StoreError, ValueError):
    """Key that is empty, contains NUL or is not Unicode text."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"{key!r} cannot be a key: it must be Unicode text, not empty, without NUL")


class UnknownEngine(StoreError, ValueError):
    """URL that no engine serves."""

    def __init__(self, url: str, known: str) -> None:
        self.url = re.sub(r"(://[^:@/]*):[^@]*@", r"\1:***@", url)  # a password is not for logs
        super().__init__(f"no storage engine for {self.url!r}: expected one of {known}")


class Unavailable(StoreError):
    """Store that cannot serve: not started, closed, or its database cannot be reached, read or written."""

    def __init__(self, where: str, cause: str) -> None:
        self.where = where
        self.cause = cause
        super().__init__(f"store {where} is not available: {cause}")


class Misconfigured(Unavailable):
    """Store that cannot be reached with its settings, however long one waits."""


class Locked(Unavailable):
    """Database that another process has open."""


class FormatTooNew(Unavailable):
    """Database that a newer version of this program wrote; it has not been changed."""

    def __init__(self, where: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(where, f"its format is {found}, this program knows formats up to {known}; use a newer one")
