"""`agnhost mounttest`: prints type, mode, owner and content of files.

upstream 1.36: test/images/agnhost/mounttest
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import NO_SUCH_FILE, File, FileError, format_mode
from mockkube.shell.programs.program_flags import parse_flags

if TYPE_CHECKING:
    from mockkube.shell.scripts.shell import Shell

_NEW_CONTENT: Final = "mount-tester new file\n"
_MODES: Final = {"new_file_0644": 0o644, "new_file_0666": 0o666, "new_file_0660": 0o660, "new_file_0777": 0o777}
_FLAGS: Final = {
    "fs_type": "", **dict.fromkeys(_MODES, ""), "file_mode": "", "file_perm": "", "file_owner": "", "file_content": "",
    "file_content_in_loop": "", "retry_time": "180", "break_on_expected_content": "true",
}  # fmt: skip
_PAUSE_SECONDS: Final = 2.0


def run_mounttest(shell: "Shell", words: Sequence[str]) -> int:
    """Run the tests that the flags ask for, in upstream's order; return 1 if one of them fails."""
    flags = parse_flags(words, _FLAGS)
    failed = False
    for name in _FLAGS:
        if flags[name] and name in _TESTS:
            failed = not _TESTS[name](shell, flags[name]) or failed
        elif flags[name] and name in _MODES:
            failed = not _write_new(shell, flags[name], _MODES[name]) or failed
    if path := flags["file_content_in_loop"]:
        failed = not _read_in_loop(shell, path, flags) or failed
    return int(failed)


def _find(shell: "Shell", path: str) -> File:
    file = shell.machine.files.find(path)
    if file is None:
        raise FileError(NO_SUCH_FILE)
    return file


def _print_type(shell: "Shell", path: str) -> bool:
    try:
        _find(shell, path)
    except FileError as error:
        shell.print(f'error from statfs("{path}"): {error.text.lower()}\n')
        return False
    shell.print(f'mount type of "{path}": {shell.machine.files.filesystem_type(path)}\n')
    return True


def _print_mode(shell: "Shell", path: str) -> bool:
    return _print_stat(shell, path, lambda file: f'mode of file "{path}": {format_mode(file)}\n')


def _print_permissions(shell: "Shell", path: str) -> bool:
    return _print_stat(
        shell, path, lambda file: f'perms of file "{path}": {format_mode(file, permissions_only=True)}\n'
    )


def _print_stat(shell: "Shell", path: str, text: Callable[[File], str]) -> bool:
    try:
        shell.print(text(_find(shell, path)))
    except FileError as error:
        shell.print(f'error from Stat("{path}"): stat {path}: {error.text.lower()}\n')
        return False
    return True


def _print_owner(shell: "Shell", path: str) -> bool:
    try:
        file = _find(shell, path)
    except FileError as error:
        shell.print(f'error from stat("{path}"): {error.text.lower()}\n')
        return False
    shell.print(f'owner UID of "{path}": {file.uid}\nowner GID of "{path}": {file.gid}\n')
    return True


def _read(shell: "Shell", path: str) -> str:
    text = shell.machine.files.read(path)
    if text is None:
        raise FileError(NO_SUCH_FILE)
    return text


def _print_content(shell: "Shell", path: str) -> bool:
    try:
        shell.print(f'content of file "{path}": {_read(shell, path)}\n')
    except FileError as error:
        shell.print(f'error reading file content for "{path}": open {path}: {error.text.lower()}\n')
        return False
    return True


def _write_new(shell: "Shell", path: str, mode: int) -> bool:
    try:
        shell.machine.files.write(path, _NEW_CONTENT, mode=mode)
    except FileError as error:
        shell.print(f'error writing new file "{path}": open {path}: {error.text.lower()}\n')
        return False
    return _print_content(shell, path)


def _read_in_loop(shell: "Shell", path: str, flags: dict[str, str]) -> bool:
    """Print a file every two seconds, until it has the expected content or the time is over."""
    if not flags["retry_time"].isdigit():
        raise Unsupported
    machine = shell.machine
    ends, succeeded = machine.now + int(flags["retry_time"]), True
    while machine.now < ends:
        machine.count_steps()
        try:
            text = _read(shell, path)
            succeeded = True
            shell.print(f'content of file "{path}": {text}\n')
            if flags["break_on_expected_content"] == "true":
                if text == _NEW_CONTENT:
                    break
                shell.print(f"Unexpected content. Expected: {_NEW_CONTENT}. Retrying\n")
        except FileError as error:
            succeeded = False
            shell.print(f"Error reading file {path}: open {path}: {error.text.lower()}, retrying\n")
        machine.sleep(_PAUSE_SECONDS)
    return succeeded


_TESTS: Final = {
    "fs_type": _print_type,
    "file_mode": _print_mode,
    "file_perm": _print_permissions,
    "file_owner": _print_owner,
    "file_content": _print_content,
}
