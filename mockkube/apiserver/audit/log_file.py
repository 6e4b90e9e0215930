"""Log of audit events: lines in a file, which is rotated by size."""

# upstream 1.36: apiserver/plugin/pkg/audit/log/backend.go, gopkg.in/natefinch/lumberjack.v2
import gzip
import logging
import shutil
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

STANDARD_OUTPUT: Final = "-"
_MEGABYTE: Final = 1 << 20
_LOG: Final = logging.getLogger("mockkube.apiserver")


@dataclass(frozen=True, slots=True)
class RotationOptions:
    """When the file is rotated, and which rotated files are kept; 0 means no limit."""

    megabytes_max: int = 100
    days_max: int = 366
    backups_max: int = 100
    compress: bool = False


class AuditLogFile:
    """Log file, opened with the first line; `-` is standard output, which is not rotated."""

    def __init__(self, path: str, clock: Clock, rotation: RotationOptions | None = None) -> None:
        self._path = path
        self._clock = clock
        self._rotation = rotation or RotationOptions()
        self._file: IO[bytes] | None = None
        self._size = 0

    def check(self) -> None:
        """Raise OSError if the file cannot be written."""
        self._open()

    def write(self, line: bytes) -> None:
        """Append a line. A failure is logged: upstream's blocking mode answers the request all the same."""
        try:
            file = self._open()
            limit = self._rotation.megabytes_max * _MEGABYTE
            if limit and self._size and self._size + len(line) >= limit and self._path != STANDARD_OUTPUT:
                self._rotate()
                file = self._open()
            file.write(line + b"\n")
            # Readers of the log, tests above all, see an event as soon as its request is answered.
            file.flush()
            self._size += len(line) + 1
        except OSError as error:
            _LOG.error("Error in audit plugin 'log' affecting 1 audit events: %s", error)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None and self._path != STANDARD_OUTPUT:
            self._file.close()
        self._file = None

    def _open(self) -> IO[bytes]:
        if self._file is None:
            if self._path == STANDARD_OUTPUT:
                self._file = sys.stdout.buffer
            else:
                path = Path(self._path)
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("ab")
                path.chmod(0o600)
                self._size = path.stat().st_size
        return self._file

    def _rotate(self) -> None:
        """Rename the file with the time in its name, and remove old ones."""
        self.close()
        path, now = Path(self._path), self._clock.now()
        stamp = f"{now:%Y-%m-%dT%H-%M-%S}.{now.microsecond // 1000:03d}"
        backup = path.with_name(f"{path.stem}-{stamp}{path.suffix}")
        path.rename(backup)
        if self._rotation.compress:
            with backup.open("rb") as source, gzip.open(f"{backup}.gz", "wb") as target:
                shutil.copyfileobj(source, target)
            backup.unlink()
        self._remove_old_backups(path, now)

    def _remove_old_backups(self, path: Path, now: datetime) -> None:
        backups = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}*"), reverse=True)
        oldest = now - timedelta(days=self._rotation.days_max)
        for index, backup in enumerate(backups):
            too_many = self._rotation.backups_max and index >= self._rotation.backups_max
            too_old = self._rotation.days_max and backup.stat().st_mtime < oldest.timestamp()
            if too_many or too_old:
                backup.unlink(missing_ok=True)
