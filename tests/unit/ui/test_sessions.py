"""Sessions of the page: codes work once and for a while, and a session needs its cookie and its key."""

import pytest

from mockkube.apiserver.identity.user import User
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.ui.sessions import CODE_SECONDS, CODES_MAX, IDLE_SECONDS, SESSIONS_MAX, Session, Sessions

USER = User("jane", groups=("developers",))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def sessions(clock: VirtualClock) -> Sessions:
    return Sessions(clock, Random())


def begin(sessions: Sessions) -> Session:
    session = sessions.begin(sessions.issue_code(USER))
    assert session is not None
    return session


def test_a_code_begins_one_session_of_its_user(sessions: Sessions) -> None:
    code = sessions.issue_code(USER)
    session = sessions.begin(code)
    assert session is not None
    assert session.user == USER
    assert sessions.begin(code) is None


def test_a_code_is_no_longer_accepted_after_ten_minutes(sessions: Sessions, clock: VirtualClock) -> None:
    code = sessions.issue_code(USER)
    clock.move_to(clock.monotonic() + CODE_SECONDS + 1)
    assert sessions.begin(code) is None


def test_the_oldest_code_is_dropped_when_there_are_too_many(sessions: Sessions) -> None:
    codes = [sessions.issue_code(USER) for _ in range(CODES_MAX + 1)]
    assert sessions.begin(codes[0]) is None
    assert sessions.begin(codes[1]) is not None


@pytest.mark.parametrize("code", ["", "x", "0" * 64, "\udcff"])
def test_other_texts_are_no_codes(sessions: Sessions, code: str) -> None:
    sessions.issue_code(USER)
    assert sessions.begin(code) is None


def test_a_session_needs_cookie_and_key(sessions: Sessions) -> None:
    session, other = begin(sessions), begin(sessions)
    assert sessions.find(session.cookie, session.key) is session
    assert sessions.find(session.cookie, "") is None
    assert sessions.find("", session.key) is None
    assert sessions.find(session.cookie, other.key) is None
    assert sessions.find(session.key, session.cookie) is None


def test_a_session_ends_when_it_is_not_used(sessions: Sessions, clock: VirtualClock) -> None:
    session = begin(sessions)
    clock.move_to(clock.monotonic() + IDLE_SECONDS - 1)
    assert sessions.find(session.cookie, session.key) is session
    clock.move_to(clock.monotonic() + IDLE_SECONDS - 1)
    assert sessions.find(session.cookie, session.key) is session
    clock.move_to(clock.monotonic() + IDLE_SECONDS + 1)
    assert sessions.find(session.cookie, session.key) is None


def test_logging_out_ends_a_session(sessions: Sessions) -> None:
    session = begin(sessions)
    sessions.end(session)
    assert sessions.find(session.cookie, session.key) is None


def test_the_session_that_was_not_used_for_longest_gives_way(sessions: Sessions, clock: VirtualClock) -> None:
    first, second = begin(sessions), begin(sessions)
    clock.move_to(clock.monotonic() + 1)
    sessions.find(first.cookie, first.key)
    for _ in range(SESSIONS_MAX - 1):
        begin(sessions)
    assert sessions.find(first.cookie, first.key) is first
    assert sessions.find(second.cookie, second.key) is None
