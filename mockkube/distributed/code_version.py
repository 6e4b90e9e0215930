"""Version of the code of a process: only processes with equal code have equal results."""

import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mockkube.lazy_dataclasses import dataclass

_PACKAGES: Final = ("mockkube", "mockkube_storage", "mockkube_cel")
# What a package holds besides its code: an installed one has the examples, which a run is given as files.
_SKIPPED: Final = ("__pycache__", "conformance")


@dataclass(frozen=True, slots=True)
class CodeVersion:
    """Version and digest of mockkube's code, and version of Python."""

    mockkube: str
    # Of all files of the packages: a checkout changes without a new version.
    digest: str
    # Like 3.12: its releases differ in texts of errors, among others.
    python: str

    def describe_difference(self, other: "CodeVersion") -> str:
        """Return how another process differs from this one, with the remedy; empty if it does not."""
        if self.mockkube != other.mockkube:
            return f"has mockkube {other.mockkube}, and here is {self.mockkube}: install the same version on both"
        if self.python != other.python:
            return f"runs Python {other.python}, and here is {self.python}: start it with Python {self.python}"
        if self.digest != other.digest:
            return f"has mockkube {other.mockkube} with other code: install the same build on both, and restart it"
        return ""


@cache
def read_code_version() -> CodeVersion:
    """Return the version of the code of this process."""
    try:
        installed = version("mockkube")
    except PackageNotFoundError:
        installed = "that is not installed"
    return CodeVersion(installed, _compute_digest(), f"{sys.version_info.major}.{sys.version_info.minor}")


def _compute_digest() -> str:
    """Return a digest of names and contents of all files of the packages."""
    digest = sha256()
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None, f"{package} is a part of mockkube"
        assert spec.origin is not None, f"{package} has an __init__.py"
        folder = Path(spec.origin).parent
        names = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
        for name in sorted(names):
            if not any(part in _SKIPPED for part in name.split("/")):
                digest.update(f"{package}/{name}\0".encode())
                digest.update(sha256(names[name].read_bytes()).digest())
    return digest.hexdigest()
