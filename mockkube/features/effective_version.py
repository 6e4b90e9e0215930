"""Effective version of a component: its binary, the emulated version, the minimum compatibility version.

Parses `--emulated-version` and `--min-compatibility-version` with upstream's rules and error texts.
"""

# upstream 1.36: staging/src/k8s.io/component-base/compatibility/{registry,version}.go

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Self

from mockkube.features.errors import FlagError, quote
from mockkube.features.versions import Version, binary_version
from mockkube.lazy_dataclasses import dataclass

KUBE: Final = "kube"  # upstream's name of Kubernetes itself among components

_FIRST_EMULATED: Final = Version(1, 31)
_EMULATED_MINORS_MAX: Final = 3
_NUMBERS: Final = re.compile(r"\s*v?(\d+(?:\.\d+)*)(.*)")
_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_SEMVER_SUFFIX: Final = re.compile(rf"(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?\s*")


@dataclass(frozen=True, slots=True)
class EffectiveVersion:
    """Binary version, emulated version and minimum compatibility version of a component."""

    binary: Version
    emulated: Version
    min_compatibility: Version

    @classmethod
    def from_version(cls, version: Version) -> Self:
        """Return the effective version of a component without version flags."""
        return cls(version, version, max(version.earlier(1), oldest_emulated(version)))

    def with_emulated(self, version: Version) -> Self:
        """Return the effective version of the same binary that emulates a version."""
        return replace(self, emulated=version, min_compatibility=max(version.earlier(1), oldest_emulated(self.binary)))

    @property
    def is_emulating(self) -> bool:
        """True if the binary is newer than the emulated version; patch releases count as newer."""
        # Upstream compares full versions, so 1.36.4 counts as emulating 1.36 even without any flag.
        patch = binary_version(self.binary).partition("-")[0].rpartition(".")[2]
        return self.binary > self.emulated or int(patch) > 0

    def validate(self) -> tuple[str, ...]:
        """Return upstream's errors about the combination of versions."""
        lowest = oldest_emulated(self.binary)
        errors = []
        if not lowest <= self.emulated <= self.binary:
            # Upstream prints the upper bound as the binary's version with patch 0, pre-release suffix included.
            highest = re.sub(r"\.\d+(?=-|$)", ".0", binary_version(self.binary), count=1)
            errors.append(f"emulation version {self.emulated} is not between [{lowest}, {highest}]")
        if not lowest <= self.min_compatibility <= self.emulated:
            allowed = f"[{lowest}, {self.emulated}]"
            errors.append(f"minCompatibilityVersion version {self.min_compatibility} is not between {allowed}")
        return tuple(errors)


def oldest_emulated(binary: Version) -> Version:
    """Return the oldest version that a binary can emulate or be compatible with."""
    # Emulation exists since 1.31 and reaches back at most three minor versions.
    return max(_FIRST_EMULATED, binary.earlier(_EMULATED_MINORS_MAX))


def parse_effective_version(
    binary: Version, emulated: Sequence[str] = (), minimum: Sequence[str] = ()
) -> EffectiveVersion:
    """Parse both version flags, each a comma-separated list of `[component=]MAJOR.MINOR`.

    Raise FlagError for what does not parse. Ranges are checked by `validate` later, because upstream parses the gates
    before it checks the ranges.
    """
    standing = EffectiveVersion.from_version(binary)
    if (version := _parse_kube_version(emulated)) is not None:
        standing = standing.with_emulated(version)
    if (version := _parse_kube_version(minimum)) is not None:
        standing = replace(standing, min_compatibility=version)
    return standing


def _parse_kube_version(values: Sequence[str]) -> Version | None:
    """Return the version given for Kubernetes itself, the only component registered in its binaries."""
    given: dict[str, str] = {}
    for entry in (entry for value in values if value for entry in value.split(",")):
        name, equals, text = entry.partition("=")
        # Without a component the text is not stripped: upstream splits and trims only entries that contain "=".
        component, text = (name.strip(), text.strip()) if equals else (KUBE, entry)
        shown = _parse_version(text, component)
        if component in given:
            raise FlagError(f"duplicate version flag, {component}={given[component]} and {component}={shown}")
        given[component] = shown
    if unregistered := sorted(given.keys() - {KUBE}):
        raise FlagError(f"component not registered: {unregistered[0]}")
    return Version(*(int(number) for number in given[KUBE].split(".")[:2])) if KUBE in given else None


def _parse_version(text: str, component: str) -> str:
    """Return a version as upstream prints it, without patch; raise FlagError for anything else.

    Three numbers and a valid rest make a semantic version; otherwise the text after the numbers is ignored.
    """
    # upstream 1.36: staging/src/k8s.io/apimachinery/pkg/util/version/version.go
    match = _NUMBERS.fullmatch(text)
    if match is None:
        raise FlagError(f"could not parse {quote(text)} as version")
    numbers = match[1].split(".")
    if len(numbers) < 2:
        raise FlagError(f"illegal version string {quote(text)}")
    if numbers[0].startswith("0") and numbers[0] != "0":
        raise FlagError(f"illegal zero-prefixed version component {quote(numbers[0])} in {quote(text)}")
    shown = ".".join(str(int(number)) for number in numbers)
    if len(numbers) > 2 and int(numbers[2]) != 0:
        rest = _SEMVER_SUFFIX.fullmatch(match[2]) if len(numbers) == 3 else None
        shown += match[2].rstrip() if rest is not None else ""
        raise FlagError(f"patch version not allowed, got: {component}={shown}")
    return shown
