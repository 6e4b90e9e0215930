"""Promise to a server's only client that nobody else can write, so that its reads need not ask for the revision.

The promise lasts for a short time, counted from before the client asked. Another client that connects meanwhile is
admitted when the first one has given the promise back, has closed its connection, or when the time is over: a client
that is stopped does not hold up others for longer, and cannot read outdated entries when it goes on.
"""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable
from typing import Protocol


class Client(Protocol):
    """Client of a server."""

    def revoke(self) -> None:
        """Ask the client to give the promise back."""


class SoleClient:
    """The promise, and the clients that wait for its end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._clients: dict[Client, None] = {}
        self._holder: Client | None = None
        self._promised_until = 0.0
        self._waiting: list[Callable[[], None]] = []
        self._timer: TimerHandle | None = None

    def admit(self, client: Client, welcome: Callable[[], None]) -> None:
        """Call `welcome` as soon as no other client has a promise. From now on nobody gets one."""
        self._clients[client] = None
        loop = get_running_loop()
        if self._holder is None or self._promised_until <= loop.time():
            self._holder = None
            welcome()
            return
        self._waiting.append(welcome)
        if self._timer is None:
            self._timer = loop.call_at(self._promised_until, self._end)
            self._holder.revoke()

    def promise(self, client: Client) -> float:
        """Return for how many seconds a client is the only one."""
        if not self._seconds or len(self._clients) > 1 or self._waiting:
            return 0.0
        self._holder = client
        self._promised_until = get_running_loop().time() + self._seconds
        return self._seconds

    def release(self, client: Client) -> None:
        """End the promise to a client, which no longer relies on it."""
        if client is self._holder:
            self._end()

    def remove(self, client: Client) -> None:
        """Forget a client whose connection is closed; a promise to it stays until its time is over."""
        self._clients.pop(client, None)

    def _end(self) -> None:
        self._holder = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        for welcome in waiting:
            welcome()
