"""Ask the package index whether every package of a lock file has a wheel for each platform and Python we support.

Where a wheel is missing, an installation needs a compiler. Prints a line for each gap; exits with 1 if there is one.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

TOP: Final = Path(__file__).parents[1]
PYTHONS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))
# The oldest C library we count on: Debian 10, RHEL 8, Ubuntu 20.04 and later have it.
GLIBC_MINOR: Final = 28
MACOS: Final = (13, 0)
_LINK: Final = re.compile(r">\s*([^<>]+\.whl)\s*<")


@dataclass(frozen=True)
class Target:
    """A platform with a version of Python."""

    system: str
    machine: str
    python: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.system} {self.machine}, Python {'.'.join(map(str, self.python))}"

    def marker_environment(self) -> dict[str, str]:
        """Return the environment that markers of requirements are evaluated in."""
        version = ".".join(map(str, self.python))
        return {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": self.system,
            "python_full_version": f"{version}.0",
            "python_version": version,
            "sys_platform": self.system.lower(),
        }

    def tags(self) -> set[Tag]:
        """Return the tags of wheels that can be installed."""
        if self.system == "Darwin":
            platforms = list(mac_platforms(MACOS, self.machine))
        else:
            platforms = [f"manylinux_2_{minor}_{self.machine}" for minor in range(GLIBC_MINOR, 4, -1)]
            platforms += [f"manylinux{year}_{self.machine}" for year in ("2014", "2010", "1")]
        interpreter = f"cp{''.join(map(str, self.python))}"
        # The ABI is given, as the default depends on how the Python that runs this was built.
        return {
            *cpython_tags(self.python, [interpreter], platforms),
            *compatible_tags(self.python, interpreter, platforms),
        }


TARGETS: Final = [
    Target(system, machine, python)
    for system, machine in (("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("Darwin", "arm64"))
    for python in PYTHONS
]


def main() -> int:
    """Print the gaps and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", nargs="?", default=TOP / "requirements.lock", type=Path, help="the lock file")
    parser.add_argument("--index", default=os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple"))
    given = parser.parse_args()
    requirements = read_lock(given.lock.read_text())
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda one: fetch_file_names(given.index, one.name), requirements))
    gaps = [
        f"{requirement}: no wheel for {target}"
        for requirement, files in zip(requirements, names, strict=True)
        for target in find_gaps(requirement, files)
    ]
    print("\n".join(gaps) or f"{len(requirements)} packages have wheels for all {len(TARGETS)} platforms and Pythons")
    return 1 if gaps else 0


def read_lock(text: str) -> list[Requirement]:
    """Return the requirements of a lock file."""
    return [Requirement(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def fetch_file_names(index: str, name: str) -> list[str]:
    """Return the names of a project's wheels on the index."""
    with urlopen(f"{index.rstrip('/')}/{canonicalize_name(name)}/", timeout=60) as answer:
        return [unquote(found) for found in _LINK.findall(answer.read().decode())]


def find_gaps(requirement: Requirement, files: Iterable[str]) -> Iterator[Target]:
    """Yield the targets that need a requirement for which there is no wheel."""
    tags = {tag for name in files for tag in wheel_tags(requirement, name)}
    for target in TARGETS:
        needed = requirement.marker is None or requirement.marker.evaluate(target.marker_environment())
        if needed and tags.isdisjoint(target.tags()):
            yield target


def wheel_tags(requirement: Requirement, file: str) -> frozenset[Tag]:
    """Return the tags of a wheel; none if it is another version's."""
    try:
        _, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return frozenset()
    return tags if requirement.specifier.contains(version, prereleases=True) else frozenset()


if __name__ == "__main__":
    sys.exit(main())
