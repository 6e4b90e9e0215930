"""The program `tar`, as far as `kubectl cp` uses it: archives on standard input and output."""

import io
import posixpath
import tarfile
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import NO_SUCH_FILE, TEXT_MAX, File, FileError, FileSystem
from mockkube.shell.scripts import builtins
from mockkube.shell.scripts.expansion import require_known
from mockkube.shell.scripts.shell import Shell

_FAILED_CODE: Final = 2
_FLAGS: Final = frozenset("cxmpvf")
_IGNORED_OPTIONS: Final = ("--no-same-permissions", "--no-same-owner")
_PERMISSIONS: Final = 0o7777


@dataclass(slots=True)
class _Arguments:
    """Arguments of one call."""

    flags: str = ""
    directory: str = ""
    paths: tuple[str, ...] = ()


def run_tar(shell: Shell, words: Sequence[str]) -> int:
    """Run `tar cf - PATH...` or `tar xf - [-C DIRECTORY]`."""
    arguments = _parse(words)
    if "c" in arguments.flags and "x" not in arguments.flags:
        return _create(shell, arguments)
    if "x" in arguments.flags and "c" not in arguments.flags and not arguments.paths:
        return _extract(shell, arguments)
    raise Unsupported


def _parse(words: Sequence[str]) -> _Arguments:
    arguments, rest, paths = _Arguments(), [require_known(word) for word in words], list[str]()
    is_first = True
    while rest:
        word = rest.pop(0)
        if word in _IGNORED_OPTIONS:
            continue
        if word == "-C" and rest:
            arguments.directory = rest.pop(0)
        elif (is_first or word.startswith("-")) and word != "-" and set(word.lstrip("-")) <= _FLAGS:
            arguments.flags += word.lstrip("-")
            # Other archives than standard input and output are files with binary contents, which are not simulated.
            if "f" in word and (not rest or rest.pop(0) != "-"):
                raise Unsupported
        elif word.startswith("-"):
            raise Unsupported
        else:
            paths.append(word)
        is_first = False
    arguments.paths = tuple(paths)
    return arguments


def _create(shell: Shell, arguments: _Arguments) -> int:
    buffer, code = io.BytesIO(), 0
    if any(path.startswith("/") for path in arguments.paths):
        shell.print("tar: removing leading '/' from member names\n", 2)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in arguments.paths:
            try:
                for place, file in _walk(shell.machine.files, posixpath.join(arguments.directory, path)):
                    _add(archive, posixpath.relpath(place, arguments.directory or "/"), file)
            except FileError as error:
                shell.print(f"tar: {path}: {error.text}\n", 2)
                code = _FAILED_CODE
    shell.print(buffer.getvalue().decode(errors="surrogateescape"))
    return code


def _walk(files: FileSystem, path: str) -> Iterator[tuple[str, File]]:
    """Yield a file, or a directory and everything in it, with absolute paths."""
    place = files.absolute(path)
    file = files.find(place)
    if file is None:
        raise FileError(NO_SUCH_FILE)
    yield place, file
    if file.is_directory:
        for name in files.list_directory(place):
            yield from _walk(files, posixpath.join(place, name))


def _add(archive: tarfile.TarFile, name: str, file: File) -> None:
    member = tarfile.TarInfo(name)
    member.mode = file.mode
    if file.is_directory:
        member.type = tarfile.DIRTYPE
        archive.addfile(member)
        return
    data = require_known(file.text).encode(errors="surrogateescape")
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _extract(shell: Shell, arguments: _Arguments) -> int:
    data = builtins.read_all(shell).encode(errors="surrogateescape")
    code = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                shell.machine.count_steps()
                try:
                    _write(shell.machine.files, arguments.directory, archive, member)
                except FileError as error:
                    shell.print(f"tar: can't open '{member.name}': {error.text}\n", 2)
                    code = 1
    except tarfile.TarError:
        shell.print("tar: invalid tar magic\n", 2)
        return 1
    return code


def _write(files: FileSystem, directory: str, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    # As the real one, which removes a leading slash and refuses to leave the directory.
    name = posixpath.normpath(member.name.lstrip("/"))
    if name.startswith(".."):
        raise FileError("name with '..' skipped")
    path = posixpath.join(files.absolute(directory), name)
    # kubectl lists files without the directories that they are in.
    files.make_directory(posixpath.dirname(path))
    if member.isdir():
        files.make_directory(path)
    elif member.issym():
        files.link(path, member.linkname)
    # A sparse file may be far larger than its archive.
    elif member.isfile() and not member.issparse() and member.size <= TEXT_MAX:
        contents = archive.extractfile(member)
        text = b"" if contents is None else contents.read()
        files.write(path, text.decode(errors="surrogateescape"), mode=member.mode & _PERMISSIONS)
    else:
        raise Unsupported
