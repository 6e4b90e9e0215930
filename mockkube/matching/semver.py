"""Semantic versions with Kubernetes' parsers: strict, tolerant, and CEL's normalizing one.

upstream 1.36: vendor/github.com/blang/semver/v4 (v4.0.0), apiserver/pkg/cel/library/semverlib.go
"""

import re
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from mockkube_cel.golang.strconv import NumberError, parse_uint64

from mockkube.api.fields import quote
from mockkube.lazy_dataclasses import dataclass

# Number of parsed versions that are cached; the least recently used one is dropped.
CACHE_MAX: Final = 4096

_RELEASE: Final = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")
_DIGITS: Final = re.compile("[0-9]*")
_ALPHANUMERIC: Final = re.compile("[-0-9A-Za-z]*")
# Go's unicode.IsSpace.
_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class SemverError(ValueError):
    """Text that is no semantic version; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class SemanticVersion:
    """A semantic version; comparison follows precedence, which ignores build metadata."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()
    precedence: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # A release sorts after its prereleases: its tail begins with 1, theirs with 0. Numeric identifiers sort before
        # others.
        tail = (0, *((0, part) if isinstance(part, int) else (1, part) for part in self.pre)) if self.pre else (1,)
        object.__setattr__(self, "precedence", (self.major, self.minor, self.patch, tail))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemanticVersion) and self.precedence == other.precedence

    def __hash__(self) -> int:
        return hash(self.precedence)

    def __lt__(self, other: "SemanticVersion") -> bool:
        return self.precedence < other.precedence

    def __gt__(self, other: "SemanticVersion") -> bool:
        return self.precedence > other.precedence

    def compare(self, other: "SemanticVersion") -> int:
        """Return -1, 0 or 1."""
        return (self.precedence > other.precedence) - (self.precedence < other.precedence)

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(map(str, self.pre))
        return text + "+" + ".".join(self.build) if self.build else text


@lru_cache(CACHE_MAX)
def parse(text: str) -> SemanticVersion:
    """Parse a version strictly by the specification."""
    if release := _RELEASE.fullmatch(text):  # hot: most versions are plain
        return SemanticVersion(int(release[1]), int(release[2]), int(release[3]))
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    try:
        return _build_version(*parts)
    except NumberError as error:
        raise SemverError(str(error)) from None


@lru_cache(CACHE_MAX)
def parse_tolerant(text: str) -> SemanticVersion:
    """Parse a version after trimming spaces, a `v` and leading zeros, and adding missing parts."""
    return _normalize(text.strip(_SPACES), "Short")


@lru_cache(CACHE_MAX)
def parse_normalized(text: str) -> SemanticVersion:
    """Parse a version as CEL's `semver(text, true)`: tolerantly, but spaces are errors."""
    return _normalize(text, "short")


def _normalize(text: str, short: str) -> SemanticVersion:
    parts = [_strip_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemverError(f"{short} version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _strip_zeros(part: str) -> str:
    # upstream counts bytes here.
    if len(part.encode(errors="surrogatepass")) < 2:
        return part
    part = part.lstrip("0")
    return part if part[:1] in tuple("0123456789") else "0" + part


def _build_version(major: str, minor: str, rest: str) -> SemanticVersion:
    read_major, read_minor = _parse_number(major, "major"), _parse_number(minor, "minor")
    rest, plus, build = rest.partition("+")
    patch, dash, pre = rest.partition("-")
    read_patch = _parse_number(patch, "patch")
    identifiers = tuple(_parse_identifier(part) for part in pre.split(".")) if dash else ()
    builds = tuple(_parse_build_identifier(part) for part in build.split(".")) if plus else ()
    return SemanticVersion(read_major, read_minor, read_patch, identifiers, builds)


def _parse_number(text: str, name: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise SemverError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise SemverError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return parse_uint64(text)


def _parse_identifier(text: str) -> int | str:
    if not text:
        raise SemverError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise SemverError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return parse_uint64(text)
    if not _ALPHANUMERIC.fullmatch(text):
        raise SemverError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _parse_build_identifier(text: str) -> str:
    if not text:
        raise SemverError("Build meta data is empty")
    if not _ALPHANUMERIC.fullmatch(text):
        raise SemverError(f"Invalid character(s) found in build meta data {quote(text)}")
    return text
