"""Runtime configuration: which API versions and resources a server serves (`--runtime-config`)."""

# upstream 1.36: apiserver/pkg/server/resourceconfig/helpers.go
import re
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Final, Self

from mockkube_cel.golang.strconv import BOOLEANS

from mockkube.api.catalogue import KINDS, is_stable_version
from mockkube.lazy_dataclasses import dataclass

_LEVELS: Final = (
    ("api/alpha", re.compile(r"v\d+alpha\d+")),
    ("api/beta", re.compile(r"v\d+beta\d+")),
    ("api/ga", re.compile(r"v\d+")),
    ("api/all", re.compile(r".*")),
)
_LEVEL_KEYS: Final = tuple(key for key, _ in _LEVELS)
# A key without a value is enabled.
_BOOLEANS: Final = {"": True, **BOOLEANS}


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """Settings by key: `group/version`, `group/version/resource`, or `api/all` and its siblings for a level."""

    settings: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Mapping[str, str], known_versions: Collection[tuple[str, str]]) -> Self:
        """Parse the values of valid keys; raise ValueError with upstream's text.

        `known_versions`: stable versions of groups. Others than these do not exist.
        """
        for key in texts:
            group, _, version = key.rpartition("/") if key.count("/") == 1 else key.rpartition("/")[0].rpartition("/")
            is_unknown = is_stable_version(version) and (group, version) not in known_versions
            if key not in _LEVEL_KEYS and is_unknown:
                raise ValueError(f"group version {group}/{version} that has not been registered")
        levels = [key for key, _ in reversed(_LEVELS)]
        ordered = sorted(texts.items(), key=lambda item: levels.index(item[0]) if item[0] in levels else len(levels))
        return cls({key.removeprefix("/"): _parse_value(key, text) for key, text in ordered})

    def serves(self, group: str, version: str, plural: str) -> bool:
        """Return whether a resource is served; alpha and beta versions are not, unless a setting enables them."""
        if self.settings:
            api_version = f"{group}/{version}" if group else version
            levels = (key for key, pattern in _LEVELS if pattern.fullmatch(version))
            # The most specific setting wins.
            for key in (f"{api_version}/{plural}", api_version, *levels):
                if key in self.settings:
                    return self.settings[key]
        return is_stable_version(version)


def make_runtime_config(texts: Mapping[str, str]) -> RuntimeConfig:
    """Return the configuration with these values; ValueError with upstream's text if one is invalid."""
    texts = normalize_keys(texts)
    validate_keys(texts, frozenset(kind.group for kind in KINDS))
    return RuntimeConfig.parse(texts, {(kind.group, version) for kind in KINDS for version in kind.versions})


def validate_keys(texts: Mapping[str, str], known_groups: frozenset[str]) -> None:
    """Raise ValueError with upstream's text for malformed keys, and for groups that do not exist."""
    if texts == {"api/all": "false"}:
        # A server without any API could not start.
        raise ValueError("invalid runtime-config with only api/all=false")
    unknown = set()
    for key in texts:
        parts = key.split("/")
        if key not in _LEVEL_KEYS and len(parts) not in (2, 3):
            raise ValueError(f"runtime-config invalid key {key}")
        if key not in _LEVEL_KEYS and parts[0] not in known_groups:
            unknown.add("/".join(parts[:2]))
    if unknown:
        raise ValueError(f"unknown api groups {','.join(sorted(unknown))}")


def normalize_keys(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the values with one key for the core group, and without the key that no longer means anything."""
    # upstream 1.36: pkg/controlplane/apiserver/options/options.go, Complete
    normalized = {}
    for key, text in texts.items():
        if key != "api/legacy":
            normalized["/v1" if f"{key}/".startswith(("v1/", "api/v1/")) else key] = text
    return normalized


def _parse_value(key: str, text: str) -> bool:
    if key in _LEVEL_KEYS and text not in ("true", "false"):
        raise ValueError(f"invalid value {key}={text}")
    if text not in _BOOLEANS:
        raise ValueError(f'invalid value of {key}: {text}, err: strconv.ParseBool: parsing "{text}": invalid syntax')
    resource = key.split("/")[2] if key.count("/") == 2 else ""
    if resource != resource.lower():
        rule = "group/version/resource and resource is always lowercase plural"
        raise ValueError(f'invalid key {key}: {rule}, not "{resource}"')
    return _BOOLEANS[text]
