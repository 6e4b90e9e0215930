"""Kubernetes minor versions, ordered."""

import re
from typing import Final, Self

from mockkube.lazy_dataclasses import dataclass

_TEXT: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Minor release, like `1.36`; patch releases are not distinguished."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `1.36`, `v1.36` or `1.36.4`; raise ValueError for anything else."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a version: expected MAJOR.MINOR, like 1.36")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def earlier(self, minors: int) -> Self:
        """Return the version that many minors earlier, at least the first of its major."""
        return type(self)(self.major, max(self.minor - minors, 0))


DEFAULT: Final = Version(1, 36)
OLDEST: Final = Version(1, 33)
NEWEST: Final = Version(1, 37)

# Releases that mockkube knows, oldest first.
RELEASES: Final = tuple(Version(OLDEST.major, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1))

_BINARIES: Final = {
    Version(1, 33): "1.33.13",
    Version(1, 34): "1.34.11",
    Version(1, 35): "1.35.8",
    Version(1, 36): "1.36.4",
    Version(1, 37): "1.37.0-rc.1",
}


def binary_version(version: Version) -> str:
    """Return the full version of a binary of this release, as `/version` and metrics show it."""
    return _BINARIES.get(version, f"{version}.0")
