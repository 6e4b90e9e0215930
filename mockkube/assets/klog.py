"""Log of the kube-apiserver executable: lines as klog writes them."""

import logging
import os
import sys
from typing import Final

_VERBOSITY_DEBUG: Final = 4
_LETTERS: Final = {logging.INFO: "I", logging.WARNING: "W", logging.ERROR: "E", logging.DEBUG: "I"}


def start_logging(verbosity: int) -> None:
    """Log to standard error, at the verbosity of `-v`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(KlogFormatter())
    logging.basicConfig(level=logging.DEBUG if verbosity >= _VERBOSITY_DEBUG else logging.INFO, handlers=[handler])


class KlogFormatter(logging.Formatter):
    """Formats records as klog does, so that tools which filter the server's log work."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line, and the traceback of an exception below it."""
        then = f"{self.formatTime(record, '%m%d %H:%M:%S')}.{int(record.msecs):03d}000"
        head = f"{_LETTERS.get(record.levelno, 'E')}{then} {os.getpid():7d}"
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return f"{head} {record.module}.py:{record.lineno}] {text}"
