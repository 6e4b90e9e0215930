"""Validation of file paths in volumes and on nodes."""

from mockkube.api.fields import FieldError, invalid

FILE_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_path_no_backsteps(path: str, at: str) -> list[FieldError]:
    """Reject a path with `..` elements."""
    # The first test spares splitting the path of nearly every mount.
    return [invalid(at, path, "must not contain '..'")] if ".." in path and ".." in path.split("/") else []


def validate_local_descending_path(path: str, at: str) -> list[FieldError]:
    """Reject a path that is absolute or has `..` elements."""
    found = [invalid(at, path, "must be a relative path")] if path.startswith("/") else []
    return found + validate_path_no_backsteps(path, at)


def validate_local_non_reserved_path(path: str, at: str) -> list[FieldError]:
    """Reject a path that does not descend, or whose name is reserved for the kubelet."""
    found = validate_local_descending_path(path, at)
    if path.startswith("..") and not path.startswith("../"):
        found.append(invalid(at, path, "must not start with '..'"))
    return found


def validate_file_mode(mode: int | None, at: str) -> list[FieldError]:
    """Validate file permissions."""
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(at, mode, FILE_MODE_TEXT)]
