"""Limits on frames that cost the server work but carry no request."""

import asyncio
from typing import Final

from mockkube.apiserver.http2.errors import ErrorCode, Http2ConnectionError

# PING, SETTINGS, PRIORITY, RST_STREAM, unknown, tiny DATA frames and stream errors of a client in that many seconds.
CONTROL_FRAMES_MAX: Final = 1000
CONTROL_FRAMES_SECONDS: Final = 10.0
# WINDOW_UPDATE frames that a client may send before it has received anything; each DATA frame allows for more.
WINDOW_UPDATES_MAX: Final = 1000
_WINDOW_UPDATES_PER_FRAME: Final = 2


class FrameLimits:
    """Counts the frames of one client; a client that sends too many is disconnected."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._control_frames_left = CONTROL_FRAMES_MAX
        self._since = loop.time()
        self._window_updates_left = WINDOW_UPDATES_MAX

    def count_control_frame(self) -> None:
        """Count a frame that changes little; raise Http2ConnectionError if there were too many lately."""
        self._control_frames_left -= 1
        if self._control_frames_left < 0:
            now = self._loop.time()
            if now - self._since < CONTROL_FRAMES_SECONDS:
                raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many control frames")
            self._control_frames_left, self._since = CONTROL_FRAMES_MAX, now

    def count_window_update(self) -> None:
        """Count a WINDOW_UPDATE frame; raise Http2ConnectionError if there are more than the data calls for."""
        self._window_updates_left -= 1
        if self._window_updates_left < 0:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many WINDOW_UPDATE frames")

    def note_data_sent(self, size: int) -> None:  # hot: per DATA frame
        """Allow for the credit that the client may return for a DATA frame, down to a kibibyte at a time."""
        self._window_updates_left += _WINDOW_UPDATES_PER_FRAME + (size >> 10)
