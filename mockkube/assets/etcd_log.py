"""Log of the etcd executable: lines of JSON as etcd's logger writes them."""

import json
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_LEVELS: Final = {"WARNING": "warn", "CRITICAL": "fatal"}
_LEVELS_OF_FLAG: Final = {level: name for name, level in _LEVELS.items()} | {"panic": "CRITICAL"}


class EtcdFormatter(logging.Formatter):
    """Formats records as zap does, for tools that wait for a message of etcd."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        then = datetime.fromtimestamp(record.created, UTC)
        line = {
            "level": _LEVELS.get(record.levelname, record.levelname.lower()),
            "ts": f"{then:%Y-%m-%dT%H:%M:%S.%f}Z",
            "caller": f"{record.module}.py:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, separators=(",", ":"), ensure_ascii=False)


def start_logging(level: str, outputs: Sequence[str], log_format: str) -> None:
    """Log to the outputs of `--log-outputs`. Raises OSError."""
    handlers = [_make_handler(output) for output in outputs]
    for handler in handlers:
        if log_format == "json":
            handler.setFormatter(EtcdFormatter())
    logging.basicConfig(
        level=_LEVELS_OF_FLAG.get(level, level.upper()),
        handlers=handlers,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


def _make_handler(output: str) -> logging.Handler:
    match output:
        case "default" | "stderr" | "systemd/journal":
            return logging.StreamHandler(sys.stderr)
        case "stdout":
            return logging.StreamHandler(sys.stdout)
        case path:
            return logging.FileHandler(path)
