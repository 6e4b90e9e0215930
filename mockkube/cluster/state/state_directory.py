"""State directory of a cluster: its files, its lock, and the record of the running process."""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Self

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.atomic_files import make_private_directory, write_atomically
from mockkube.lazy_dataclasses import dataclass

_LOCK_BYTES_MAX: Final = 32


def state_root(environment: Mapping[str, str]) -> Path:
    """Return the parent of all state directories: under XDG_STATE_HOME, by default ~/.local/state."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the specification says to ignore relative ones
        base = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return Path(base, "mockkube")


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """Files of one cluster; reading needs no lock, only the process that holds the lock writes."""

    path: Path
    # False: its files need not survive a crash of the machine, so that writing them does not wait for the disk.
    durable: bool = True

    @classmethod
    def for_cluster(cls, name: str, environment: Mapping[str, str]) -> Self:
        """Return the directory of a cluster, which need not exist."""
        return cls(state_root(environment) / name)

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.path.name

    @property
    def kubeconfig(self) -> Path:
        """The cluster's own kubeconfig."""
        return self.path / "kubeconfig"

    @property
    def database(self) -> Path:
        """Default SQLite database of the cluster."""
        return self.path / "cluster.db"

    @property
    def control(self) -> Path:
        """SQLite database of the control resources."""
        return self.path / "control.db"

    @property
    def snapshots(self) -> Path:
        """Directory of snapshot contents."""
        return self.path / "snapshots"

    @property
    def certificates(self) -> Path:
        """Directory of keys and certificates."""
        return self.path / "certificates"

    @property
    def token(self) -> Path:
        """The administrator's bearer token, if it was generated."""
        return self.path / "token"

    @property
    def shared_cluster_key(self) -> Path:
        """Key that encrypts shared credentials, kept beside all state directories of the user."""
        # The dot keeps it apart from names of clusters.
        return self.path.parent / "cluster.key"

    @property
    def lock(self) -> Path:
        """File that the running process locks and writes its pid to."""
        return self.path / "lock"

    @property
    def running(self) -> Path:
        """Record of the running process, see `RunningRecord`."""
        return self.path / "running.json"

    @property
    def merged(self) -> Path:
        """List of the user's kubeconfigs that the cluster was merged into."""
        return self.path / "merged.json"

    def is_durable(self) -> bool:
        """Return whether it holds more than keys: a database, or entries to remove from kubeconfigs."""
        return any(path.exists() for path in (self.database, self.control, self.snapshots, self.merged))

    def load_token(self) -> str | None:
        """Return the token generated at an earlier start, None without one."""
        with contextlib.suppress(FileNotFoundError):
            return self.token.read_text("ascii").strip() or None
        return None

    def find_holder_pid(self) -> int | None:
        """Return the pid of the process that runs the cluster, 0 if it is not known yet, None if there is none."""
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
class ComponentSummary:
    """Name, version and state of a component, for listings."""

    name: str
    version: str
    running: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class RunningRecord:
    """Description of a running cluster for other commands."""

    pid: int
    url: str
    version: str
    database: str
    kubeconfig: str
    ca_file: str = ""
    components: tuple[ComponentSummary, ...] = ()

    def with_components(self, components: Iterable[ComponentSummary]) -> Self:
        """Return the record with these components."""
        return replace(self, components=tuple(components))

    def write(self, directory: StateDirectory) -> None:
        """Replace the record in the state directory."""
        # After a crash of the machine, the cluster does not run.
        write_atomically(directory.running, json.dumps(asdict(self)) + "\n", durable=False)

    @classmethod
    def read(cls, directory: StateDirectory) -> Self | None:
        """Return the record last written, None if there is none that can be read."""
        try:
            fields: dict[str, Any] = json.loads(directory.running.read_bytes())
            fields["components"] = tuple(ComponentSummary(**one) for one in fields["components"])
            return cls(**fields)
        except (OSError, ValueError, TypeError, KeyError):
            return None


# Attempts to lock a directory that its last holder deletes at the same time.
_LOCK_TRIES_MAX: Final = 100


class AlreadyRunningError(StartError):
    """Error: another process runs the cluster of this name."""


class StateLock:
    """Exclusive lock on a state directory; the system releases that of a killed process.

    Leaving deletes what was created since entering, unless `keep_files` was called, and keys without a database.
    """

    def __init__(self, directory: StateDirectory) -> None:
        self._directory = directory
        self._descriptor = -1
        self._keeps_files = False

    def __enter__(self) -> Self:
        if not any(self._try_lock() for _ in range(_LOCK_TRIES_MAX)):
            # Some file systems, like /proc, say so of a directory that cannot be made.
            missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise make_unwritable_error(self._directory.path, missing)
        self._keeps_files = self._directory.is_durable()
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # the disk is full
            self.__exit__()
            raise make_unwritable_error(self._directory.path, error) from None
        return self

    def keep_files(self) -> None:
        """Keep the databases when the lock is released: the cluster has started."""
        self._keeps_files = True

    def __exit__(self, *exc_info: object) -> None:
        with contextlib.suppress(OSError):
            self._directory.running.unlink(missing_ok=True)
            if not self._keeps_files or not self._directory.is_durable():
                _delete_files(self._directory)
        os.close(self._descriptor)

    def _try_lock(self) -> bool:
        """Lock the file; return False if its last holder deleted it meanwhile."""
        directory = self._directory
        try:
            make_private_directory(directory.path)
            self._descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # deleted between the two
            return False
        except OSError as error:
            raise make_unwritable_error(directory.path, error) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise AlreadyRunningError(_describe_holder(directory)) from None
        # A lock on a deleted file excludes nobody: the locked file must still be the one at the path.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._descriptor), directory.lock.stat()):
                return True
        os.close(self._descriptor)
        return False


def _delete_files(directory: StateDirectory) -> None:
    """Delete all files of mockkube, then the directory, which must be empty then."""
    import shutil

    for database in (directory.database, directory.control):
        for path in database.parent.glob(f"{database.name}*"):  # SQLite keeps two more files beside each
            path.unlink()
    for path in (directory.snapshots, directory.certificates):
        shutil.rmtree(path, ignore_errors=True)
    for path in (directory.kubeconfig, directory.token, directory.running, directory.merged, directory.lock):
        path.unlink(missing_ok=True)
    directory.path.rmdir()


def redact_url(url: str) -> str:
    """Return a database URL without password and options, which may contain one."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}"


def make_unwritable_error(path: Path, error: OSError) -> StartError:
    """Return the error for a state directory that cannot be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space" if full else "make it writable"
    return StartError(
        f"state directory {path}: {error.strerror or error}: {remedy}, or set XDG_STATE_HOME to one that is"
        + (" on another disk" if full else "")
    )


def _describe_holder(directory: StateDirectory) -> str:
    pid = directory.find_holder_pid()
    process = f" by process {pid}" if pid else ""
    return (
        f"cluster {directory.name!r} is already running{process}: "
        f"stop it with 'mockkube down --name {directory.name}', or give this one another --name"
    )
