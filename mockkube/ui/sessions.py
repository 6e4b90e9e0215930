"""Sessions of the page: one-time codes, and the cookie and key that a code is exchanged for.

A session needs both. The cookie is hidden from scripts, but a browser sends it to every port of a host. The key is
stored for one origin only, and no other site can make a browser send it, because it travels in a header of its own.
"""

from hmac import compare_digest
from typing import Final

from mockkube.apiserver.identity.user import User
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

CODE_SECONDS: Final = 600.0
# Codes that may wait to be used; the oldest is dropped beyond that.
CODES_MAX: Final = 32
# Sessions end after this time without a request.
IDLE_SECONDS: Final = 12 * 3600.0
SESSIONS_MAX: Final = 64


@dataclass(slots=True)
class Session:
    """A user who has logged in to the page."""

    user: User
    cookie: str
    key: str
    last_used: float


class Sessions:
    """Codes that were issued and sessions that were begun; both are kept in memory only."""

    def __init__(self, clock: Clock, random: Random) -> None:
        """Measure ages by this clock, which is to run in real time."""
        self._clock = clock
        self._random = random
        self._codes: dict[str, tuple[User, float]] = {}
        self._sessions: dict[str, Session] = {}

    def issue_code(self, user: User) -> str:
        """Return a new code that begins one session of this user."""
        while len(self._codes) >= CODES_MAX:
            del self._codes[next(iter(self._codes))]
        code = self._random.new_token()
        self._codes[code] = user, self._clock.monotonic() + CODE_SECONDS
        return code

    def begin(self, code: str) -> Session | None:
        """Exchange a code for a session; None if it is unknown, used or too old."""
        found = next((one for one in self._codes if _is_equal(one, code)), None)
        if found is None:
            return None
        user, expires_at = self._codes.pop(found)
        if expires_at < self._clock.monotonic():
            return None
        while len(self._sessions) >= SESSIONS_MAX:
            oldest = min(self._sessions.values(), key=lambda one: one.last_used)
            del self._sessions[oldest.cookie]
        session = Session(user, self._random.new_token(), self._random.new_token(), self._clock.monotonic())
        self._sessions[session.cookie] = session
        return session

    def find(self, cookie: str, key: str) -> Session | None:
        """Return the session with this cookie and this key; None if either is wrong, or it has ended."""
        found = next((one for one in self._sessions.values() if _is_equal(one.cookie, cookie)), None)
        if found is None or not _is_equal(found.key, key):
            return None
        now = self._clock.monotonic()
        if now - found.last_used > IDLE_SECONDS:
            self.end(found)
            return None
        found.last_used = now
        return found

    def end(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.cookie, None)


def _is_equal(known: str, given: str) -> bool:
    """Compare secrets in constant time; headers carry undecodable bytes as surrogates."""
    return compare_digest(known.encode(), given.encode("utf-8", "surrogateescape"))
