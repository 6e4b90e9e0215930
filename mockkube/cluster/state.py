"""What a cluster keeps on disk: one directory per name, locked by the process that runs it."""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from mockkube.cluster.errors import StartError
from mockkube.cluster.files import make_private_directory, write_atomically

_LOCK_BYTES_MAX: Final = 32


def state_root(environment: Mapping[str, str]) -> Path:
    """Return where clusters keep their directories: under XDG_STATE_HOME, by default ~/.local/state."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the specification says to ignore relative ones
        base = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return Path(base, "mockkube")


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The files of one cluster. Reading them needs no lock; only the process that holds the lock writes."""

    path: Path

    @classmethod
    def of(cls, name: str, environment: Mapping[str, str]) -> Self:
        """Return the directory of the cluster `name`, which need not exist."""
        return cls(state_root(environment) / name)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.path.name

    @property
    def kubeconfig(self) -> Path:
        """The cluster's own kubeconfig."""
        return self.path / "kubeconfig"

    @property
    def database(self) -> Path:
        """Where SQLite keeps the cluster unless told otherwise."""
        return self.path / "cluster.db"

    @property
    def control(self) -> Path:
        """Where SQLite keeps the control resources."""
        return self.path / "control.db"

    @property
    def snapshots(self) -> Path:
        """The directory of what snapshots hold."""
        return self.path / "snapshots"

    @property
    def certificates(self) -> Path:
        """The directory of keys and certificates."""
        return self.path / "certificates"

    @property
    def token(self) -> Path:
        """The administrator's bearer token, when it was drawn rather than given."""
        return self.path / "token"

    @property
    def lock(self) -> Path:
        """Locked while a process runs the cluster; holds its pid."""
        return self.path / "lock"

    @property
    def running(self) -> Path:
        """What `RunningRecord` says, while it is true."""
        return self.path / "running.json"

    @property
    def merged(self) -> Path:
        """Into which other kubeconfigs the cluster was merged."""
        return self.path / "merged.json"

    def is_durable(self) -> bool:
        """Return whether it holds more than keys: a database, or what is left to take out of other kubeconfigs."""
        return any(path.exists() for path in (self.database, self.control, self.snapshots, self.merged))

    def kept_token(self) -> str | None:
        """Return the token drawn at an earlier start, if there was one."""
        with contextlib.suppress(FileNotFoundError):
            return self.token.read_text("ascii").strip() or None
        return None

    def holder(self) -> int | None:
        """Return the pid of the process that runs the cluster, None when nobody does."""
        try:
            descriptor = os.open(self.lock, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.read(descriptor, _LOCK_BYTES_MAX).strip()
            return int(text) if text.isdigit() else 0  # locked and not yet signed
        finally:
            os.close(descriptor)
        return None


@dataclass(frozen=True, slots=True)
class Summary:
    """A component in a line."""

    name: str
    version: str
    running: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class RunningRecord:
    """What other commands are told of a running cluster."""

    pid: int
    url: str
    version: str
    database: str
    kubeconfig: str
    ca_file: str = ""
    components: tuple[Summary, ...] = ()

    def showing(self, components: Iterable[Summary]) -> Self:
        """Return the record with these components."""
        return replace(self, components=tuple(components))

    def write(self, directory: StateDirectory) -> None:
        """Make it what `read` returns."""
        write_atomically(directory.running, json.dumps(asdict(self)) + "\n")

    @classmethod
    def read(cls, directory: StateDirectory) -> Self | None:
        """Return the record last written, None when there is none that can be read."""
        try:
            fields: dict[str, Any] = json.loads(directory.running.read_bytes())
            fields["components"] = tuple(Summary(**one) for one in fields["components"])
            return cls(**fields)
        except (OSError, ValueError, TypeError, KeyError):
            return None


class AlreadyRunning(StartError):
    """A process runs the cluster of this name."""


class StateLock:
    """The right to run one cluster, held from entering to leaving; the system takes it back from a killed process.

    Leaving deletes what was made since entering, unless `keep` was called, and keys that no database belongs to.
    """

    def __init__(self, directory: StateDirectory) -> None:
        self._directory = directory
        self._descriptor = -1
        self._kept = False

    def __enter__(self) -> Self:
        while not self._lock():
            pass
        self._kept = self._directory.is_durable()
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # the disk is full
            self.__exit__()
            raise unwritable(self._directory.path, error) from None
        return self

    def keep(self) -> None:
        """Let the databases stay when the lock is left: the cluster has started."""
        self._kept = True

    def __exit__(self, *exc_info: object) -> None:
        with contextlib.suppress(OSError):
            self._directory.running.unlink(missing_ok=True)
            if not self._kept or not self._directory.is_durable():
                _delete_files(self._directory)
        os.close(self._descriptor)

    def _lock(self) -> bool:
        """Lock the file; return whether it is still there, as its last holder may have deleted it meanwhile."""
        directory = self._directory
        try:
            make_private_directory(directory.path)
            self._descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # deleted between the two
            return False
        except OSError as error:
            raise unwritable(directory.path, error) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise AlreadyRunning(_taken(directory)) from None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._descriptor), directory.lock.stat()):
                return True
        os.close(self._descriptor)
        return False


def _delete_files(directory: StateDirectory) -> None:
    """Delete what mockkube has written there, and the directory if nothing else is in it."""
    import shutil

    for database in (directory.database, directory.control):
        for path in database.parent.glob(f"{database.name}*"):  # SQLite keeps two more files beside each
            path.unlink()
    for path in (directory.snapshots, directory.certificates):
        shutil.rmtree(path, ignore_errors=True)
    for path in (directory.kubeconfig, directory.token, directory.running, directory.merged, directory.lock):
        path.unlink(missing_ok=True)
    directory.path.rmdir()


def without_password(url: str) -> str:
    """Return a database URL as others may see it: no password, nor the options one may hide in."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}"


def unwritable(path: Path, error: OSError) -> StartError:
    """Return why nothing can be kept in the state directory."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space" if full else "make it writable"
    return StartError(
        f"state directory {path}: {error.strerror or error}: {remedy}, or set XDG_STATE_HOME to one that is"
        + (" on another disk" if full else "")
    )


def _taken(directory: StateDirectory) -> str:
    pid = directory.holder()
    process = f" by process {pid}" if pid else ""
    return (
        f"cluster {directory.name!r} is already running{process}: "
        f"stop it with 'mockkube down --name {directory.name}', or give this one another --name"
    )
