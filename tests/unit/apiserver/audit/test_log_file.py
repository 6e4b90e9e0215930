"""The audit log file: rotation by size, and what is kept of rotated files."""

import gzip
from datetime import timedelta
from pathlib import Path

from mockkube.apiserver.audit.log_file import AuditLogFile, RotationOptions
from mockkube.runtime.virtual_time import VirtualClock

LINE = b"x" * 700_000


def test_a_full_file_is_rotated_and_old_ones_are_removed(tmp_path: Path) -> None:
    clock = VirtualClock()
    log = AuditLogFile(str(tmp_path / "audit.log"), clock, RotationOptions(megabytes_max=1, days_max=0, backups_max=2))
    for _ in range(5):
        log.write(LINE)
        clock.move_to(clock.monotonic() + timedelta(seconds=1).total_seconds())
    log.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert names[-1] == "audit.log"
    assert (tmp_path / "audit.log").read_bytes() == LINE + b"\n"
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600


def test_rotated_files_can_be_compressed(tmp_path: Path) -> None:
    log = AuditLogFile(
        str(tmp_path / "audit.log"), VirtualClock(), RotationOptions(megabytes_max=1, days_max=0, compress=True)
    )
    log.write(LINE)
    log.write(LINE)
    log.close()
    [backup] = tmp_path.glob("*.gz")
    assert gzip.decompress(backup.read_bytes()) == LINE + b"\n"


def test_a_file_that_cannot_be_written_stops_no_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    AuditLogFile(str(tmp_path / "file" / "audit.log"), VirtualClock()).write(b"lost")
