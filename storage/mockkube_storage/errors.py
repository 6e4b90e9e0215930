"""The answers of a store that are not the wished-for one: a class per thing a caller can do about it.

They carry data; `str()` is one line for a log or a terminal.
"""

import re

from mockkube_storage.model import Entry


class StoreError(Exception):
    """The root of the tree."""


class Conflict(StoreError):
    """The key is not in the state the write expected; `current` is the state it is in, None if absent."""

    def __init__(self, key: str, current: Entry | None) -> None:
        self.key = key
        self.current = current
        state = "does not exist" if current is None else f"is at revision {current.revision}"
        super().__init__(f"{key} {state}")


class Compacted(StoreError):
    """The revision asked for is gone; `oldest` is the oldest that can still be read or watched from."""

    def __init__(self, asked: int, oldest: int) -> None:
        self.asked = asked
        self.oldest = oldest
        super().__init__(f"revision {asked} has been compacted, the oldest available is {oldest}")


class FutureRevision(StoreError):
    """The revision asked for has not been reached; `current` is the newest."""

    def __init__(self, asked: int, current: int) -> None:
        self.asked = asked
        self.current = current
        super().__init__(f"revision {asked} is in the future, the newest is {current}")


class Lagged(StoreError):
    """A watcher did not keep up and was ended; it may watch again from `revision`, the last handed out."""

    def __init__(self, revision: int, events_max: int) -> None:
        self.revision = revision
        self.events_max = events_max
        super().__init__(f"watcher fell more than {events_max} events behind after revision {revision}")


class InvalidKey(StoreError, ValueError):
    """The key is empty, contains NUL or is not Unicode text."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"{key!r} cannot be a key: it must be Unicode text, not empty, without NUL")


class UnknownEngine(StoreError, ValueError):
    """No engine serves such a URL."""

    def __init__(self, url: str, known: str) -> None:
        self.url = re.sub(r"(://[^:@/]*):[^@]*@", r"\1:***@", url)  # a password is not for logs
        super().__init__(f"no storage engine for {self.url!r}: expected one of {known}")


class Unavailable(StoreError):
    """The store cannot serve: not started, closed, or its database cannot be reached, read or written."""

    def __init__(self, where: str, cause: str) -> None:
        self.where = where
        self.cause = cause
        super().__init__(f"store {where} is not available: {cause}")


class Locked(Unavailable):
    """Another process has the database open."""


class FormatTooNew(Unavailable):
    """The database was written by a newer version of this program; it has not been touched."""

    def __init__(self, where: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(where, f"its format is {found}, this program knows formats up to {known}; use a newer one")
