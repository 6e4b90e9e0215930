"""Log engine: everything in memory, and every write in an append-only file; durable, for one process.

A group of writes is one record. It is in the file, and synced unless that is turned off, before it is published. The
file is rewritten with what is left after a compaction when it has grown to twice its size.
"""

import asyncio
import logging
import os
from asyncio import Lock
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mockkube_storage.encoding import encode_entry, encode_event
from mockkube_storage.engines.file_lock import FileLock
from mockkube_storage.engines.group_commit import GroupCommitWriter
from mockkube_storage.engines.log_file import LogFile, encode_record, file_start, read_records, sync_directory
from mockkube_storage.engines.log_records import (
    STORE_ID_BYTES,
    LogReader,
    encode_compaction,
    encode_head,
    join_chunks,
)
from mockkube_storage.engines.store_tasks import StoreTasks
from mockkube_storage.engines.versioned import VersionedStore
from mockkube_storage.errors import Conflict, FutureRevision, Unavailable
from mockkube_storage.keys import check_key
from mockkube_storage.model import Entry, EventType
from mockkube_storage.versions import Versions
from mockkube_storage.writes import Decisions, Write, decide_writes

LOG_NAME: Final = "store.log"
# A log that is smaller than twice this is not rewritten.
REWRITE_BYTES_MIN: Final = 8 * 1024 * 1024
# Keys whose old versions are dropped without a pause.
DROPPED_KEYS_MAX: Final = 500
# Events that may be left for the last step of a rewrite, which writers wait for.
LAST_EVENTS_MAX: Final = 500

# Bytes of a log that are read without a pause.
_PAUSE_BYTES: Final = 1024 * 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """Resources that a store holds between its start and its close."""

    tasks: StoreTasks
    writer: GroupCommitWriter


class LogStore(VersionedStore):
    """Store in memory, with a log in a directory."""

    def __init__(self, directory: str, *, fsync: bool = True) -> None:
        """Use a directory, which is created when missing.

        Without `fsync`, writes survive the end of the process, but not that of the machine.
        """
        super().__init__()
        self._path = os.path.join(directory, LOG_NAME)
        self._directory = directory
        self._fsync = fsync
        self._lock = FileLock(self._path)
        self._file: LogFile | None = None
        self._rewritten_size = 0
        self._past_bytes = 0
        self._problem = ""
        self._stopping = False
        self._commit_lock = Lock()
        self._compaction_lock = Lock()
        self._open_log: OpenLog | None = None
        self.store_id = b""

    @property
    def versions(self) -> Versions:
        """Versions of all keys, for reading; another object after each start."""
        return self._versions

    @property
    def problem(self) -> str:
        """Reason why nothing written now would be kept; empty if there is none."""
        if self._file is not None:
            try:
                self._file.check_intact()
            except Unavailable as error:
                return error.cause
        return self._problem

    @property
    def past_bytes(self) -> int:
        """About how many bytes of replaced and deleted entries there were at the start."""
        return self._past_bytes

    async def start(self) -> None:
        """Lock the directory, and read the log. Raises Locked, FormatTooNew or Unavailable."""
        assert self._open_log is None, "started twice"
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._lock.acquire()
            self._file = await self._read_log()
            tasks = StoreTasks(self._release)
            await tasks.open()
        except OSError as error:
            await self._release()
            raise Unavailable(self._path, error.strerror or str(error)) from error
        except BaseException:
            await self._release()
            raise
        self._stopping = False
        self._problem = ""
        writer = GroupCommitWriter(self._path, self._commit_group)
        tasks.start_background(writer.run())
        self._open_log = OpenLog(tasks, writer)

    async def close(self) -> None:
        """Finish the group of writes in progress, then close the log."""
        log, self._open_log = self._open_log, None
        if log is None:
            return
        self._stopping = True
        log.writer.stop()
        await log.tasks.close()

    async def create(self, key: str, value: bytes) -> Entry:
        """Create the key, at the next revision."""
        return await self._write(Write(key, value, None))

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Replace the entry."""
        return await self._write(Write(key, value, expected))

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry."""
        return await self._write(Write(key, None, expected))

    async def compact(self, revision: int) -> None:
        """Drop the versions and events that no read or watch may ask for any more; rewrite the log if that pays."""
        await self._check_open().tasks.call(self._compact(revision))

    async def commit(self, writes: Sequence[Write]) -> Decisions:
        """Decide a group of writes, keep what is decided, and publish it. Raises Unavailable."""
        async with self._commit_lock:
            decisions = decide_writes(writes, newest=self.revision, current_of=self._versions.current.get)
            if decisions.events:
                await self._append(b"".join([encode_event(event) for event in decisions.events]))
                self._versions.publish(decisions.events)
        return decisions

    def _check_open(self) -> OpenLog:
        if self._open_log is None:
            raise Unavailable(self._path, "it is not started, or has been closed")
        return self._open_log

    async def _write(self, write: Write) -> Entry:
        check_key(write.key)
        return await self._check_open().writer.write(write)

    async def _commit_group(self, writes: Sequence[Write]) -> Sequence[Entry | Conflict]:
        return (await self.commit(writes)).outcomes

    async def _append(self, content: bytes) -> None:
        """Append a record; log when the store ceases to keep writes, and when it does again."""
        if self._file is None:
            raise Unavailable(self._path, "it is not started, or has been closed")
        problem = ""
        try:
            if not self._lock.is_held():
                raise Unavailable(self._path, "its lock file, which keeps other processes out, has been removed")
            await self._file.append(content)
        except Unavailable as error:
            problem = error.cause
            raise
        finally:
            if problem != self._problem:
                self._problem = problem
                if problem:
                    _log.error("store %s refuses writes, which would be lost: %s", self._path, problem)
                else:
                    _log.warning("store %s takes writes again", self._path)

    async def _release(self) -> None:
        self._versions.hub.end(Unavailable(self._path, "it has been closed"))
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.release()

    async def _read_log(self) -> LogFile:
        """Read the log, or create it, and return it open for appending. Raises OSError or Unavailable."""
        with suppress(FileNotFoundError):
            os.unlink(self._new_path)  # of a rewrite that a crash has interrupted
        self._versions = Versions()
        self._rewritten_size = self._past_bytes = 0
        reader = LogReader(self._path, self._versions)
        try:
            end = await self._read_records(reader)
        except FileNotFoundError:
            self.store_id = os.urandom(STORE_ID_BYTES)
            return await self._create_log()
        self.store_id = reader.finish()
        self._past_bytes = self._versions.current.estimate_past_bytes(end)
        log = LogFile(self._path, end, fsync=self._fsync)
        if log.cut_bytes:
            _log.warning("store %s: cut off an incomplete write of %d bytes", self._path, log.cut_bytes)
        return log

    async def _read_records(self, reader: LogReader) -> int:
        """Read all records; return where they end."""
        end = 0
        for record in read_records(self._path):
            reader.read(record.content)
            if record.end // _PAUSE_BYTES > end // _PAUSE_BYTES:
                await _let_others_run()
            end = record.end
        return end

    async def _create_log(self) -> LogFile:
        # Under another name first: a log that exists has its head.
        log = LogFile(self._new_path, 0, fsync=self._fsync)
        try:
            log.write(file_start() + encode_record(encode_head(self.store_id, 0)))
            await log.sync()
            log.rename(self._path)
            await self._sync_directory()
        except BaseException:
            log.close()
            raise
        return log

    async def _sync_directory(self) -> None:
        if self._fsync:
            await asyncio.get_running_loop().run_in_executor(None, sync_directory, self._directory)

    @property
    def _new_path(self) -> str:
        return f"{self._path}.new"

    async def _compact(self, revision: int) -> None:
        async with self._compaction_lock:
            if revision > self.revision:
                raise FutureRevision(revision, self.revision)
            if revision <= self._versions.compacted:
                return
            async with self._commit_lock:
                await self._append(encode_compaction(revision))
                keys = self._versions.begin_compaction(revision)
            for start in range(0, len(keys), DROPPED_KEYS_MAX):
                for key in keys[start : start + DROPPED_KEYS_MAX]:
                    self._versions.drop_versions(key, revision)
                await _let_others_run()
            if self._file is not None and self._file.size >= 2 * max(self._rewritten_size, REWRITE_BYTES_MIN):
                await self._rewrite()

    async def _rewrite(self) -> None:
        """Replace the log by one without what is compacted; keep the present one if that fails."""
        try:
            new = LogFile(self._new_path, 0, fsync=self._fsync)
            try:
                await self._write_new_log(new)
            except BaseException:
                if self._file is not new:
                    new.close()
                    os.unlink(self._new_path)
                raise
        except (OSError, Unavailable) as error:
            _log.warning("store %s: its log cannot be rewritten, it goes on growing: %s", self._path, error)

    async def _write_new_log(self, new: LogFile) -> None:
        versions = self._versions
        new.write(file_start() + encode_record(encode_head(self.store_id, versions.compacted)))
        for chunk in join_chunks(self._encode_entries(versions.keys(), versions.compacted)):
            new.write(encode_record(chunk))
            await self._pause_rewriting()
        written = versions.compacted
        while (events := versions.hub.events_after(written)) and len(events) > LAST_EVENTS_MAX:
            for chunk in join_chunks(map(encode_event, events)):
                new.write(encode_record(chunk))
                await self._pause_rewriting()
            written = events[-1].revision
        await new.sync()
        async with self._commit_lock:
            old = self._file
            assert old is not None
            old.check_intact()
            events = versions.hub.events_after(written)
            if events:
                new.write(encode_record(b"".join(map(encode_event, events))))
            await new.sync()
            new.rename(self._path)
            # At once, since the present file is in its place no longer.
            self._file = new
            self._rewritten_size = new.size
            old.close()
            await self._sync_directory()

    def _encode_entries(self, keys: Iterable[str], revision: int) -> Iterator[bytes]:
        for key in keys:
            event = self._versions.event_at(key, revision)
            if event is not None and event.type is not EventType.DELETE:
                yield encode_entry(event.entry)

    async def _pause_rewriting(self) -> None:
        if self._stopping:
            raise Unavailable(self._path, "it is being closed")
        await _let_others_run()


async def _let_others_run() -> None:
    await asyncio.sleep(0)  # noqa: TID251  waits for no time
