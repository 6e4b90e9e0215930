"""Options of the kube-apiserver executable: parse its flags as the real one does."""

# upstream 1.36: pkg/controlplane/apiserver/options, pkg/kubeapiserver/options, apiserver/pkg/server/options
import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Self

from mockkube.api.catalogue import KINDS
from mockkube.apiserver.admission.catalogue import list_plugins_besides
from mockkube.apiserver.authorization.authorizer import ALWAYS_ALLOW
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.runtime_config import RuntimeConfig, make_runtime_config, normalize_keys, validate_keys
from mockkube.apiserver.registry.service_ip_allocator import NODE_PORTS, SERVICE_CIDR
from mockkube.assets.command_line import (
    CommandLineError,
    Flag,
    list_deprecations,
    parse_command_line,
    parse_flags_table,
)
from mockkube.features.components import API_SERVER
from mockkube.features.errors import FlagError, quote
from mockkube.features.flags import ParsedFlags, parse_version_flags
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.features.versions import binary_version as get_binary_version
from mockkube.lazy_dataclasses import dataclass

PROGRAM: Final = "kube-apiserver"
SHORTHANDS: Final = {"h": "help", "v": "v"}
_TABLE: Final = Path(__file__).with_name("data") / "kube_apiserver_flags.tsv"
_VERSION_FLAGS: Final = (
    "feature-gates",
    "emulated-version",
    "min-compatibility-version",
    "emulation-forward-compatible",
    "runtime-config-emulation-forward-compatible",
)


class OptionsError(ValueError):
    """Options that the server cannot start with; the text is upstream's where it has one."""


@dataclass(frozen=True)
class KubeApiserverOptions:
    """Values of the flags by name, those that are not given with their defaults."""

    values: Mapping[str, Any]
    given: frozenset[str]
    binary_version: Version

    @classmethod
    def parse(cls, arguments: Sequence[str], binary_version: Version) -> Self:
        """Parse a command line. Raises CommandLineError."""
        flags = load_flags()
        given = parse_command_line(PROGRAM, arguments, flags, SHORTHANDS)
        _check_reported_version(given.get("version"), f"v{get_binary_version(binary_version)}")
        return cls({**_default_values(flags), **given}, frozenset(given), binary_version)

    @property
    def version_flags(self) -> Mapping[str, Sequence[str]]:
        """Values of the flags about versions and gates that are given, as texts."""
        flags: dict[str, Sequence[str]] = {}
        for name in _VERSION_FLAGS:
            if name in self.given:
                value = self.values[name]
                flags[name] = [str(value).lower()] if isinstance(value, bool) else value
        return flags

    @cached_property
    def effective_flags(self) -> ParsedFlags:
        """Effective version, whose range is not checked, and feature gates; OptionsError if they are invalid."""
        try:
            return parse_version_flags(API_SERVER, self.binary_version, self.version_flags)
        except FlagError as error:
            raise OptionsError(str(error)) from None

    def is_enabled(self, gate: str) -> bool:
        """Return whether a feature gate is on."""
        return gate in enabled_gates(self.version, self.effective_flags.gates.overrides, component=API_SERVER)

    @property
    def version(self) -> Version:
        """Version that the server emulates."""
        return self.effective_flags.effective_version.emulated

    @property
    def bind_address(self) -> str:
        """Address to listen on."""
        return str(self.values["bind-address"])

    @property
    def port(self) -> int:
        """Port to listen on."""
        return int(self.values["secure-port"])

    @property
    def anonymous_auth(self) -> bool:
        """True if requests without credentials are those of the anonymous user."""
        # upstream resets it for this mode: everybody could do everything without saying who they are.
        return bool(self.values["anonymous-auth"]) and ALWAYS_ALLOW not in self.authorization_modes

    @property
    def authorization_modes(self) -> tuple[str, ...]:
        """Authorization modes in their order."""
        return self.values["authorization-mode"] or (ALWAYS_ALLOW,)

    @property
    def enabled_admission_plugins(self) -> tuple[str, ...]:
        """Admission plugins to run besides the default ones."""
        return tuple(self.values["admission-control"] or self.values["enable-admission-plugins"])

    @property
    def disabled_admission_plugins(self) -> tuple[str, ...]:
        """Admission plugins to leave out."""
        if "admission-control" in self.given:  # without a value, too: then no plugin runs
            return list_plugins_besides(self.values["admission-control"])
        return tuple(self.values["disable-admission-plugins"])

    @property
    def deprecations(self) -> list[str]:
        """Warnings about the deprecated flags that are given."""
        return list_deprecations(load_flags(), self.given)

    @property
    def issuers(self) -> tuple[str, ...]:
        """Issuers of service account tokens."""
        return tuple(self.values["service-account-issuer"])

    @property
    def service_cidrs(self) -> tuple[str, ...]:
        """Ranges of cluster IPs."""
        return tuple(filter(None, self.values["service-cluster-ip-range"].split(","))) or (SERVICE_CIDR,)

    @property
    def node_ports(self) -> range:
        """Range of node ports; an empty value means the default."""
        # upstream 1.36: pkg/controlplane/instance.go
        return self.values["service-node-port-range"] or NODE_PORTS

    @cached_property
    def runtime_config(self) -> RuntimeConfig:
        """APIs that are served; OptionsError if a value is invalid."""
        try:
            return make_runtime_config(self.values["runtime-config"] or {})
        except ValueError as error:
            raise OptionsError(str(error)) from None

    @property
    def runtime_settings(self) -> Mapping[str, str]:
        """Texts of `--runtime-config` by key."""
        return normalize_keys(self.values["runtime-config"] or {})

    def validate_runtime_config(self) -> None:
        """Raise ValueError for malformed keys of `--runtime-config`, and groups that do not exist."""
        validate_keys(self.runtime_settings, frozenset(kind.group for kind in KINDS))

    @cached_property
    def tokens(self) -> Mapping[str, User]:
        """Users of the tokens in `--token-auth-file`; OptionsError if it cannot be read."""
        path = self.values["token-auth-file"]
        return _read_token_file(path) if path else {}

    def read_file(self, flag: str) -> bytes:
        """Return the content of the file that a flag names; OptionsError if it cannot be read."""
        return read_file(self.values[flag])


@cache
def load_flags() -> tuple[Flag, ...]:
    """Return all flags of kube-apiserver."""
    return parse_flags_table(_TABLE.read_text())


def _check_reported_version(reported: object, binary: str) -> None:
    """Raise CommandLineError if the version to report is not the program's, but for a suffix."""
    # upstream 1.36: component-base/version/dynamic.go
    if isinstance(reported, str) and reported.startswith("v") and re.split("[-+]", reported)[0] != binary:
        problem = f"version {quote(reported)} must match major/minor/patch of default version {quote(binary)}"
        raise CommandLineError(f'invalid argument {quote(reported)} for "--version" flag: {problem}')


def _default_values(flags: Sequence[Flag]) -> dict[str, Any]:
    """Return the values of flags that are not given: the parsed default, or nothing of the type."""
    arguments = [f"--{flag.name}={flag.default}" for flag in flags if flag.default]
    nothing = {flag.name: "" if flag.type in ("string", "ip") else () for flag in flags}
    return {**nothing, **parse_command_line(PROGRAM, arguments, flags, {})}


def read_file(path: str) -> bytes:
    """Return the content of a file; OptionsError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OptionsError(f"open {path}: {(error.strerror or '').lower()}") from None


def _read_token_file(path: str) -> Mapping[str, User]:
    # upstream 1.36: apiserver/pkg/authentication/token/tokenfile/tokenfile.go
    tokens: dict[str, User] = {}
    for row in csv.reader(read_file(path).decode("utf-8", "replace").splitlines()):
        if not row:
            continue
        if len(row) < 3:
            raise OptionsError(
                f"token file '{path}' must have at least 3 columns (token, user name, user uid), found {len(row)}"
            )
        if row[0]:
            groups = tuple(row[3].split(",")) if len(row) > 3 else ()
            tokens[row[0]] = User(row[1], row[2], groups)
    return tokens
