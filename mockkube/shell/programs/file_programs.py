"""Programs that read and change files: `cat`, `ls`, `stat`, `mkdir`, `rm`, `mv`, `cp`, `ln`, `chmod`, and others."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mockkube.shell.machine.cgroup_files import CGROUP_DIRECTORY
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import NO_SUCH_FILE, File, FileError, format_listed_mode
from mockkube.shell.scripts import builtins
from mockkube.shell.scripts.expansion import require_known
from mockkube.shell.scripts.shell import Program, Shell

_OPTION: Final = re.compile(r"-[a-zA-Z0-9]+$")
_STAT_FIELD: Final = re.compile(r"%(.)")
_OCTAL: Final = re.compile(r"0?[0-7]{3,4}$")
_PERMISSIONS: Final = 0o7777
_BLOCK: Final = 4096


def split_options(words: Sequence[str], allowed: str) -> tuple[str, list[str]]:
    """Return the letters of the options and the other words; raise Unsupported for another option."""
    letters, rest = "", list[str]()
    for index, word in enumerate(words):
        require_known(word)
        if word == "--":
            return letters, [*rest, *words[index + 1 :]]
        if not _OPTION.match(word):
            rest.append(word)
            continue
        letters += word[1:]
    if set(letters) - set(allowed):
        raise Unsupported
    return letters, rest


def read_files(shell: Shell, name: str, paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each path with its text; print an error and yield None for those that cannot be read."""
    for path in paths or ("-",):
        if path == "-":
            yield path, builtins.read_all(shell)
            continue
        try:
            text = "" if path == "/dev/null" else shell.machine.files.read(require_known(path))
            if text is None:
                raise FileError(NO_SUCH_FILE)
            yield path, text
        except FileError as error:
            shell.print(
                f"{name}: can't open '{path}': {error.text}\n" if name == "cat" else f"{name}: {path}: {error.text}\n",
                2,
            )
            yield path, None


def _for_each(shell: Shell, name: str, paths: Sequence[str], change: Callable[[str], None], complaint: str = "") -> int:
    """Change each file; print errors as `name: complaint 'path': text`."""
    code = 0
    for path in paths:
        try:
            change(require_known(path))
        except FileError as error:
            shell.print(
                f"{name}: {complaint}{path!r}: {error.text}\n" if complaint else f"{name}: {path}: {error.text}\n", 2
            )
            code = 1
    return code


def _run_cat(shell: Shell, words: Sequence[str]) -> int:
    code = 0
    for word in words or ("-",):
        if word == "-":
            _copy_input(shell)
            continue
        if word.startswith("-"):
            raise Unsupported
        for _, text in read_files(shell, "cat", (word,)):
            shell.print(text or "")
            code = max(code, int(text is None))
    return code


def _copy_input(shell: Shell) -> None:
    """Print the standard input, as it arrives if it is that of a command of exec."""
    arriving = shell.machine.input if shell.stdin is None else None
    if arriving is None:
        shell.print(builtins.read_all(shell))
        return
    while text := arriving.read_some(shell.machine):
        shell.print(text)


def _run_tee(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "a")
    text = builtins.read_all(shell)
    code = _for_each(shell, "tee", paths, lambda path: shell.machine.write(path, text, appended="a" in options))
    shell.print(text)
    return code


def _run_touch(shell: Shell, words: Sequence[str]) -> int:
    _, paths = split_options(words, "")
    files = shell.machine.files

    def touch(path: str) -> None:
        file = files.find(path) if path.startswith("/") and _is_listed(shell, path) else None
        if file is None or not file.is_directory:
            shell.machine.write(path, "", appended=True)

    return _for_each(shell, "touch", paths, touch)


def _is_listed(shell: Shell, path: str) -> bool:
    """Return whether it is known what is at a path."""
    try:
        shell.machine.files.find(path)
    except Unsupported:
        return False
    return True


def _run_mkdir(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "p")
    files = shell.machine.files

    def make(path: str) -> None:
        # Without `-p` it fails for an existing directory, and which directories an image has is unknown.
        if "p" not in options and files.find(path) is not None:
            raise FileError("File exists")
        files.make_directory(path)

    return _for_each(shell, "mkdir", paths, make, "can't create directory ")


def _run_rm(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "rRf")
    files = shell.machine.files

    def remove(path: str) -> None:
        if "f" not in options:
            # Without `-f` it fails for a missing file, and which files an image has is unknown.
            file = files.find(path)
            if file is None:
                raise FileError(NO_SUCH_FILE)
            if file.is_directory and not {"r", "R"} & set(options):
                raise FileError("Is a directory")
        files.remove(path)

    return _for_each(shell, "rm", paths, remove, "can't remove ")


def _run_mv(shell: Shell, words: Sequence[str]) -> int:
    return _transfer(shell, "mv", words, keeps_source=False)


def _run_cp(shell: Shell, words: Sequence[str]) -> int:
    return _transfer(shell, "cp", words, keeps_source=True)


def _transfer(shell: Shell, name: str, words: Sequence[str], *, keeps_source: bool) -> int:
    """Copy or move one file."""
    options, paths = split_options(words, "vf")
    if len(paths) != 2:
        raise Unsupported
    files, (source, target) = shell.machine.files, paths
    file = files.find(source)
    if file is None:
        shell.print(f"{name}: can't {'stat' if keeps_source else 'rename'} '{source}': {NO_SUCH_FILE}\n", 2)
        return 1
    if file.is_directory:
        raise Unsupported
    folder = files.find(target.rstrip("/") or "/") if _is_listed(shell, target.rstrip("/") or "/") else None
    place = posixpath.join(target, posixpath.basename(source)) if folder is not None and folder.is_directory else target

    def transfer(path: str) -> None:
        files.write(place, file.text, mode=file.mode)
        if not keeps_source:
            files.remove(source)

    code = _for_each(shell, name, (place,), transfer, "can't create ")
    if code == 0 and "v" in options:
        shell.print(f"'{source}' -> '{place}'\n" if keeps_source else f"renamed '{source}' -> '{place}'\n")
    return code


def _run_ln(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "sf")
    if len(paths) != 2 or "s" not in options:
        raise Unsupported
    return _for_each(shell, "ln", paths[1:], lambda path: shell.machine.files.link(path, paths[0]))


def _run_chmod(shell: Shell, words: Sequence[str]) -> int:
    _, paths = split_options(words, "R")
    if len(paths) < 2 or not _OCTAL.match(paths[0]):
        raise Unsupported
    return _for_each(shell, "chmod", paths[1:], lambda path: shell.machine.files.change(path, mode=int(paths[0], 8)))


def _run_ls(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "1ladn")
    code = 0
    for path in paths or (None,):
        if path is None:
            raise Unsupported  # the working directory of the image is not known
        try:
            file = shell.machine.files.find(path)
            if file is None:
                raise FileError(NO_SUCH_FILE)
            names = [path] if not file.is_directory or "d" in options else None
            for name in names or shell.machine.files.list_directory(path):
                one = file if names else shell.machine.files.find(posixpath.join(path, name))
                shell.print(_list_line(one or File(), name) if {"l", "n"} & set(options) else f"{name}\n")
        except FileError as error:
            shell.print(f"ls: {path}: {error.text}\n", 2)
            code = 1
    return code


def _list_line(file: File, name: str) -> str:
    user = "root" if file.uid == 0 else str(file.uid)
    group = "root" if file.gid == 0 else str(file.gid)
    size = _BLOCK if file.is_directory else len(_encode(file.text))
    # The time of the last change is not kept.
    return f"{format_listed_mode(file)}    1 {user:8} {group:8} {size:9} Jan  1 00:00 {name}\n"


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _run_stat(shell: Shell, words: Sequence[str]) -> int:
    rest, form = list(words), None
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-c" and rest:
            form = rest.pop(0)
        elif option.startswith("-c"):
            form = option[2:]
        elif option != "-L":
            raise Unsupported
    if form is None or not rest:
        raise Unsupported
    code = 0
    for path in rest:
        try:
            file = shell.machine.files.find(require_known(path))
            if file is None:
                raise FileError(NO_SUCH_FILE)
            shell.print(f"{_format_stat(form, path, file)}\n")
        except FileError as error:
            shell.print(f"stat: can't stat '{path}': {error.text}\n", 2)
            code = 1
    return code


def _format_stat(form: str, path: str, file: File) -> str:
    fields: Mapping[str, str] = {
        "n": path, "a": f"{file.mode & _PERMISSIONS:o}", "A": format_listed_mode(file), "u": str(file.uid),
        "g": str(file.gid), "U": "root" if file.uid == 0 else "UNKNOWN", "G": "root" if file.gid == 0 else "UNKNOWN",
        "s": str(len(_encode(file.text))), "F": "directory" if file.is_directory else "regular file", "%": "%",
    }  # fmt: skip

    def field(found: re.Match[str]) -> str:
        if found[1] not in fields:
            raise Unsupported
        return fields[found[1]]

    return _STAT_FIELD.sub(field, form)


def _run_find(shell: Shell, words: Sequence[str]) -> int:
    """Run `find DIRECTORY`, possibly with `-type f` or `-type d`."""
    rest = [require_known(word) for word in words]
    if not rest or rest[0].startswith("-") or rest[1:] not in ([], ["-type", "f"], ["-type", "d"]):
        raise Unsupported
    wanted = rest[2] if len(rest) > 1 else ""
    pending = [rest[0]]
    while pending:
        path = pending.pop(0)
        file = shell.machine.files.find(path)
        if file is None:
            shell.print(f"find: {path}: {NO_SUCH_FILE}\n", 2)
            return 1
        if not wanted or (wanted == "d") == file.is_directory:
            shell.print(f"{path}\n")
        if file.is_directory:
            pending = [posixpath.join(path, one) for one in shell.machine.files.list_directory(path)] + pending
    return 0


def _run_id(shell: Shell, words: Sequence[str]) -> int:
    user = shell.machine.files.user
    groups = " ".join(str(one) for one in dict.fromkeys((user.gid, *sorted(user.groups))))
    match list(words):
        case []:
            listed = ",".join(_name_id(int(one)) for one in groups.split())
            shell.print(f"uid={_name_id(user.uid)} gid={_name_id(user.gid)} groups={listed}\n")
        case ["-u"]:
            shell.print(f"{user.uid}\n")
        case ["-g"]:
            shell.print(f"{user.gid}\n")
        case ["-G"]:
            shell.print(f"{groups}\n")
        case _:
            raise Unsupported
    return 0


def _name_id(number: int) -> str:
    return "0(root)" if number == 0 else str(number)


def _run_whoami(shell: Shell, words: Sequence[str]) -> int:
    uid = shell.machine.files.user.uid
    if uid == 0:
        shell.print("root\n")
        return 0
    shell.print(f"whoami: unknown uid {uid}\n", 2)
    return 1


def _run_sysctl(shell: Shell, words: Sequence[str]) -> int:
    """Print sysctls that the pod sets."""
    options, names = split_options(words, "n")
    for name in names:
        value = shell.machine.environment.sysctls.get(name.replace("/", "."))
        if value is None:
            raise Unsupported
        shell.print(f"{value}\n" if options else f"{name.replace('/', '.')} = {value}\n")
    return 0


def _run_mount(shell: Shell, words: Sequence[str]) -> int:
    """Print the mount of control groups; other file systems of a node are not known."""
    if list(words) != ["-t", "cgroup2"]:
        raise Unsupported
    shell.print(f"cgroup on {CGROUP_DIRECTORY} type cgroup2 (ro,nosuid,nodev,noexec,relatime)\n")
    return 0


FILE_PROGRAMS: Final[Mapping[str, Program]] = {
    "cat": _run_cat,
    "chmod": _run_chmod,
    "cp": _run_cp,
    "find": _run_find,
    "id": _run_id,
    "ln": _run_ln,
    "ls": _run_ls,
    "mkdir": _run_mkdir,
    "mount": _run_mount,
    "mv": _run_mv,
    "rm": _run_rm,
    "stat": _run_stat,
    "sysctl": _run_sysctl,
    "tee": _run_tee,
    "touch": _run_touch,
    "whoami": _run_whoami,
}
