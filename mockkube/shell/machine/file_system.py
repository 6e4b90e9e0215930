"""Files of one container: its own root file system with volumes mounted into it, owners and modes included."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.errors import Unsupported

# Marks unknown text (a private-use character). It may be printed, but no condition may depend on it.
UNKNOWN: Final = "\ue000"
FILES_MAX: Final = 1000
# Characters of a variable, a file, or the output of a substituted command.
TEXT_MAX: Final = 1 << 16
TMPFS: Final = "tmpfs"
# Type of the file system of a node's disk as statfs reports it: that of ext4.
DISK: Final = "61267"
ROOT_UID: Final = 0
# Modes of new files and directories of a shell, whose umask is 022.
FILE_MODE: Final = 0o644
DIRECTORY_MODE: Final = 0o755
SETGID: Final = 0o2000
_STICKY: Final = 0o1000
_OPEN_MODE: Final = 0o777
_SCRATCH_DIRECTORY: Final = "/tmp"  # noqa: S108 -- a name in the container's own file system
_IMAGE_DIRECTORIES: Final = (
    "/",
    "/bin",
    "/dev",
    "/etc",
    "/home",
    "/proc",
    "/root",
    "/sys",
    _SCRATCH_DIRECTORY,
    "/usr",
    "/var",
)

NO_SUCH_FILE: Final = "No such file or directory"
NOT_PERMITTED: Final = "Permission denied"
READ_ONLY: Final = "Read-only file system"
IS_A_DIRECTORY: Final = "Is a directory"
NOT_A_DIRECTORY: Final = "Not a directory"


class FileError(Exception):
    """An operation on a file that fails, with the text of the errno."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class File:
    """A file or a directory."""

    text: str = ""
    mode: int = FILE_MODE
    uid: int = 0
    gid: int = 0
    is_directory: bool = False
    link: str = ""
    """Target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class User:
    """User and groups that a process runs as."""

    uid: int = ROOT_UID
    gid: int = ROOT_UID
    groups: frozenset[int] = frozenset()

    def may(self, file: File, bit: int) -> bool:
        """Return whether the user may read (4), write (2) or enter (1) a file."""
        if self.uid == ROOT_UID:
            return True
        if self.uid == file.uid:
            return bool(file.mode >> 6 & bit)
        if file.gid == self.gid or file.gid in self.groups:
            return bool(file.mode >> 3 & bit)
        return bool(file.mode & bit)


@dataclass(slots=True)
class Volume:
    """Files by their path relative to the volume's root, whose own path is empty."""

    name: str = ""
    files: dict[str, File] = field(default_factory=dict)
    is_known: bool = True
    """False if it may have files that are not listed."""
    is_writable: bool = True
    file_system: str = DISK
    survives: bool = False
    """True if its files survive a restart of the container."""
    removed: set[str] = field(default_factory=set)
    """Paths that were removed, which is only known of these where the contents are not known."""

    def root(self) -> File:
        """Return the directory at the root."""
        return self.files.get("", File(mode=_OPEN_MODE, is_directory=True))

    def add(self, path: str, file: File) -> None:
        """Add a file with the directories above it."""
        folder = posixpath.dirname(path)
        if folder and folder not in self.files:
            self.add(folder, File(mode=DIRECTORY_MODE, gid=file.gid, is_directory=True))
        self.files[path] = file


@dataclass(frozen=True, slots=True)
class Mount:
    """Place of a volume, or of one path in it, in a container."""

    path: str
    volume: Volume
    sub_path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A change of a file in a volume: seconds since the container's start; None as file removes it."""

    at: float
    volume: str
    path: str
    file: File | None


@dataclass(frozen=True, slots=True)
class _Place:
    """A path of a container in the volume that holds it."""

    volume: Volume
    path: str
    read_only: bool


class FileSystem:
    """Files as the processes of one container see them."""

    def __init__(
        self,
        mounts: Sequence[Mount] = (),
        *,
        root: Mapping[str, File] | None = None,
        user: User | None = None,
        is_read_only: bool = False,
        working_directory: str = "",
        pending: Iterable[FileWrite] = (),
    ) -> None:
        """Start with files of the root file system, and writes of others that appear when their time has come."""
        self.user = user or User()
        self._is_read_only = is_read_only
        self._working_directory = working_directory
        files = {path: File(mode=DIRECTORY_MODE, is_directory=True) for path in _IMAGE_DIRECTORIES}
        files[_SCRATCH_DIRECTORY] = File(mode=_OPEN_MODE | _STICKY, is_directory=True)
        self._root = Volume(files={**files, **(root or {})}, is_known=False)
        # The longest path first: a mount may lie below another.
        self._mounts = sorted(mounts, key=lambda one: -len(one.path))
        self._volumes = {mount.volume.name: mount.volume for mount in mounts} | {"": self._root}
        self.initial_pending = tuple(sorted(pending, key=lambda one: one.at))
        """Writes of others, in order of time."""
        self._pending = list(self.initial_pending)
        self.journal: list[FileWrite] = []
        """Writes by this container, in order; the volume of its own root file system has an empty name."""
        self.now = 0.0
        self.advance(0.0)

    def copy(self) -> "FileSystem":
        """Return the files as they are now, for a command that starts now."""
        volumes = {name: _copy_volume(one) for name, one in self._volumes.items()}
        other = FileSystem(
            [Mount(one.path, volumes[one.volume.name], one.sub_path, one.read_only) for one in self._mounts],
            user=self.user,
            is_read_only=self._is_read_only,
            working_directory=self._working_directory,
        )
        other._root = other._volumes[""] = volumes[""]
        return other

    def advance(self, now: float) -> None:
        """Apply the writes of others up to a time."""
        self.now = now
        while self._pending and self._pending[0].at <= now:
            write = self._pending.pop(0)
            if (volume := self._volumes.get(write.volume)) is not None:
                _apply(volume, write)

    @property
    def has_pending(self) -> bool:
        """Return whether others still write files later."""
        return bool(self._pending)

    def state(self) -> tuple[object, ...]:
        """Return a value that changes with any file."""
        return tuple(dict(one.files) for one in self._volumes.values())

    def surviving_writes(self) -> list[FileWrite]:
        """Return the writes to volumes that survive a restart of the container, as done before its next start."""
        return [replace(one, at=0.0) for one in self.journal if one.volume and self._volumes[one.volume].survives]

    def read(self, path: str) -> str | None:
        """Return the text of a file, None if it does not exist; raise FileError, or Unsupported if that is unknown."""
        file = self.find(path)
        if file is None:
            return None
        if file.is_directory:
            raise FileError(IS_A_DIRECTORY)
        if not self.user.may(file, 4):
            raise FileError(NOT_PERMITTED)
        return file.text

    def find(self, path: str) -> File | None:
        """Return a file or directory, None if it does not exist; raise Unsupported if that is unknown."""
        place = self._locate(path)
        self._check_folders(place)
        volume = place.volume
        if place.path in volume.files:
            file = volume.files[place.path]
            return self.find(posixpath.join(posixpath.dirname(self.absolute(path)), file.link)) if file.link else file
        if place.path in volume.removed:
            return None
        if volume is self._root:
            if self._is_mount_parent(self.absolute(path)):
                return File(mode=DIRECTORY_MODE, is_directory=True)
            if not place.path.startswith(f"{_SCRATCH_DIRECTORY}/"):
                raise Unsupported
        elif not place.path:
            return volume.root()
        elif not volume.is_known:
            raise Unsupported
        return None

    def list_directory(self, path: str) -> list[str]:
        """Return the names in a directory; raise FileError, or Unsupported if they are unknown."""
        folder = self.find(path)
        if folder is None:
            raise FileError(NO_SUCH_FILE)
        if not folder.is_directory:
            raise FileError(NOT_A_DIRECTORY)
        place = self._locate(path)
        if not place.volume.is_known and not self._is_scratch(_Place(place.volume, f"{place.path}/", place.read_only)):
            raise Unsupported
        prefix = f"{place.path}/" if place.path else ""
        below = {one[len(prefix) :].partition("/")[0] for one in place.volume.files if one.startswith(prefix)}
        return sorted(below - {""})

    def write(self, path: str, text: str, *, appended: bool = False, mode: int = FILE_MODE) -> None:
        """Write a file; raise FileError if that fails."""
        place = self._writable(path)
        before = place.volume.files.get(place.path)
        if before is not None and before.link:
            self.write(posixpath.join(posixpath.dirname(self.absolute(path)), before.link), text, appended=appended)
            return
        if before is None:
            before = self._new_file(place, mode)
            # The file may have had content before, so what is read later begins with an unknown part.
            if appended and not place.volume.is_known and not self._is_scratch(place):
                before = replace(before, text=UNKNOWN)
        elif before.is_directory:
            raise FileError(IS_A_DIRECTORY)
        elif not self.user.may(before, 2):
            raise FileError(NOT_PERMITTED)
        self._put(place, replace(before, text=check_length((before.text if appended else "") + text)))

    def make_directory(self, path: str, mode: int = DIRECTORY_MODE) -> None:
        """Make a directory with those above it, unless it exists."""
        place = self._writable(path)
        if place.path in place.volume.files or not place.path:
            return
        folder = posixpath.dirname(self.absolute(path))
        if folder != "/" and posixpath.dirname(place.path) not in place.volume.files:
            self.make_directory(folder, mode)
        self._put(place, replace(self._new_file(place, mode), is_directory=True))

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        place = self._writable(path)
        self._put(place, replace(self._new_file(place, _OPEN_MODE), link=target))

    def change(self, path: str, *, mode: int | None = None) -> None:
        """Change the mode of a file."""
        file = self.find(path)
        if file is None:
            raise FileError(NO_SUCH_FILE)
        place = self._writable(path)
        self._put(place, replace(file, mode=file.mode if mode is None else mode))

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with everything in it, if it exists."""
        place = self._writable(path)
        prefix = f"{place.path}/"
        present = [one for one in place.volume.files if one == place.path or one.startswith(prefix)]
        # The image may have it.
        if not present and not place.volume.is_known:
            present = [place.path]
        for one in present:
            self._put(_Place(place.volume, one, place.read_only), None)

    def filesystem_type(self, path: str) -> str:
        """Return the type of the file system that holds a path."""
        volume = self._locate(path).volume
        if not volume.is_known:
            raise Unsupported
        return volume.file_system

    def mount_of(self, path: str) -> Mount | None:
        """Return the mount that holds a path; None for the root file system."""
        absolute = self.absolute(path)
        return next((one for one in self._mounts if absolute == one.path or absolute.startswith(f"{one.path}/")), None)

    def absolute(self, path: str) -> str:
        """Return a path without `.`, `..` and double slashes."""
        # The working directory of most images is not known.
        if not path or not (path.startswith("/") or self._working_directory):
            raise Unsupported
        return posixpath.normpath(posixpath.join(self._working_directory, path)).replace("//", "/")

    def _locate(self, path: str) -> _Place:
        absolute = self.absolute(path)
        mount = self.mount_of(absolute)
        if mount is None:
            return _Place(self._root, absolute, self._is_read_only)
        relative = posixpath.join(mount.sub_path, absolute[len(mount.path) :].lstrip("/")).rstrip("/")
        return _Place(mount.volume, relative, mount.read_only or not mount.volume.is_writable)

    def _check_folders(self, place: _Place) -> None:
        """Raise FileError if the user may not enter a directory on the way."""
        folder = posixpath.dirname(place.path)
        while folder and folder != "/":
            file = place.volume.files.get(folder)
            if file is not None and file.is_directory and not self.user.may(file, 1):
                raise FileError(NOT_PERMITTED)
            folder = posixpath.dirname(folder)

    def _is_mount_parent(self, absolute: str) -> bool:
        return any(one.path.startswith(f"{absolute}/") for one in self._mounts)

    def _is_scratch(self, place: _Place) -> bool:
        return place.volume is self._root and place.path.startswith(f"{_SCRATCH_DIRECTORY}/")

    def _writable(self, path: str) -> _Place:
        if path.startswith(("/dev/tcp", "/proc/", "/sys/")):
            raise Unsupported
        place = self._locate(path)
        # The termination log and the other files that the kubelet mounts stay writable, as they are mounts.
        if place.read_only and not (place.volume is self._root and self._is_own_mount(place.path)):
            raise FileError(READ_ONLY)
        self._check_folders(place)
        folder = place.volume.files.get(posixpath.dirname(place.path))
        if place.volume is not self._root and posixpath.dirname(place.path) == "":
            folder = place.volume.root()
        if folder is None:
            # In a known volume every directory is listed; elsewhere the image may have it.
            if place.volume.is_known:
                raise FileError(NO_SUCH_FILE)
            if self.user.uid != ROOT_UID:
                raise Unsupported
        elif place.path not in place.volume.files and not self.user.may(folder, 2):
            raise FileError(NOT_PERMITTED)
        return place

    def _is_own_mount(self, path: str) -> bool:
        return path.startswith("/dev/") or path in ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")

    def _new_file(self, place: _Place, mode: int) -> File:
        parent = posixpath.dirname(place.path)
        folder = place.volume.files.get(parent) or (place.volume.root() if not parent else None)
        # In a directory with the setgid bit, new files get its group.
        inherited = folder is not None and folder.mode & SETGID
        gid = folder.gid if folder is not None and inherited else self.user.gid
        return File("", mode, self.user.uid, gid)

    def _put(self, place: _Place, file: File | None) -> None:
        write = FileWrite(self.now, place.volume.name, place.path, file)
        _apply(place.volume, write)
        self.journal.append(write)
        if len(place.volume.files) > FILES_MAX:
            raise Unsupported


def _copy_volume(volume: Volume) -> Volume:
    """Return a volume with files of its own."""
    return replace(volume, files=dict(volume.files), removed=set(volume.removed))


def _apply(volume: Volume, write: FileWrite) -> None:
    if write.file is None:
        volume.files.pop(write.path, None)
        volume.removed.add(write.path)
    else:
        volume.files[write.path] = write.file
        volume.removed.discard(write.path)


def check_length(text: str) -> str:
    """Return the text; raise Unsupported if it is too long."""
    if len(text) > TEXT_MAX:
        raise Unsupported
    return text


def format_mode(file: File, *, permissions_only: bool = False) -> str:
    """Return a mode as Go prints it: `-rw-r--r--`, `dgrwxrwxrwx`."""
    letters = "".join(letter if file.mode >> (8 - index) & 1 else "-" for index, letter in enumerate("rwxrwxrwx"))
    if permissions_only:
        return f"-{letters}"
    special = "d" * file.is_directory + "g" * bool(file.mode & SETGID) + "t" * bool(file.mode & _STICKY)
    return f"{special or '-'}{letters}"


def format_listed_mode(file: File) -> str:
    """Return a mode as `ls -l` prints it: `-rw-r--r--`, `drwxrwsrwx`."""
    letters = list(format_mode(file, permissions_only=True))
    letters[0] = "l" if file.link else "d" if file.is_directory else "-"
    if file.mode & SETGID:
        letters[6] = "s" if letters[6] == "x" else "S"
    if file.mode & _STICKY:
        letters[9] = "t" if letters[9] == "x" else "T"
    return "".join(letters)
