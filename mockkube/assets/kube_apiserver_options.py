"""Options of the kube-apiserver executable: parse and validate its flags as the real one does."""

# upstream 1.36: pkg/controlplane/apiserver/options, pkg/kubeapiserver/options, apiserver/pkg/server/options
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_network
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

from mockkube.api.catalogue import KINDS
from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.admission.catalogue import list_plugins_besides, validate_flags
from mockkube.apiserver.authorization.authorizer import ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC
from mockkube.apiserver.identity.signing_keys import has_pem_block
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import SERVICE_CIDR
from mockkube.assets.command_line import Flag, list_deprecations, parse_command_line, parse_flags_table
from mockkube.features.components import API_SERVER
from mockkube.features.errors import FlagError, quote
from mockkube.features.flags import ParsedFlags, parse_flags
from mockkube.features.versions import Version

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
_UPSTREAM_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, "ABAC", "Webhook", RBAC, NODE)
_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC)
# Flags whose effect cannot be left out silently: a test that sets them checks who may do what.
_REFUSED: Final = ("authorization-config", "authentication-config", "oidc-issuer-url")
_NOT_NEGATIVE: Final = (
    ("livez-grace-period", "--livez-grace-period can not be a negative value"),
    ("max-requests-inflight", "--max-requests-inflight can not be negative value"),
    ("max-mutating-requests-inflight", "--max-mutating-requests-inflight can not be negative value"),
    ("request-timeout", "--request-timeout can not be negative value"),
    ("min-request-timeout", "--min-request-timeout can not be negative value"),
    ("storage-initialization-timeout", "--storage-initialization-timeout can not be negative value"),
    ("shutdown-delay-duration", "--shutdown-delay-duration can not be negative value"),
)
_PORT_MAX: Final = 65535
_GOAWAY_CHANCE_MAX: Final = 0.02
_CIDR_BITS_MAX: Final = 20


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
        """Parse a command line; raise CommandLineError or, from the gate flags, FlagError."""
        flags = load_flags()
        given = parse_command_line(PROGRAM, arguments, flags, SHORTHANDS)
        options = cls({**_default_values(flags), **given}, frozenset(given), binary_version)
        _ = options.effective_flags
        return options

    @cached_property
    def effective_flags(self) -> ParsedFlags:
        """Effective version and feature gates."""
        flags: dict[str, Sequence[str]] = {}
        for name in _VERSION_FLAGS:
            if name in self.given:
                value = self.values[name]
                flags[name] = [str(value).lower()] if isinstance(value, bool) else value
        return parse_flags(API_SERVER, self.binary_version, flags)

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

    @cached_property
    def runtime_config(self) -> RuntimeConfig:
        """APIs that are served; ValueError if a setting is invalid."""
        groups = frozenset(kind.group for kind in KINDS)
        return RuntimeConfig.parse(self.values["runtime-config"] or {}, groups)

    @cached_property
    def tokens(self) -> Mapping[str, User]:
        """Users of the tokens in `--token-auth-file`; OptionsError if it cannot be read."""
        path = self.values["token-auth-file"]
        return _read_token_file(path) if path else {}

    def read_file(self, flag: str) -> bytes:
        """Return the content of the file that a flag names; OptionsError if it cannot be read."""
        return _read_file(self.values[flag])

    def validate(self) -> None:
        """Raise OptionsError with all that upstream finds wrong before it starts anything."""
        errors = list(dict.fromkeys(chain(*(check(self) for check in _CHECKS))))
        if errors:
            raise OptionsError(aggregate_messages(errors))


def load_flags() -> tuple[Flag, ...]:
    """Return all flags of kube-apiserver."""
    return parse_flags_table(_TABLE.read_text())


def _default_values(flags: Sequence[Flag]) -> dict[str, Any]:
    """Return the values of flags that are not given: the parsed default, or nothing of the type."""
    arguments = [f"--{flag.name}={flag.default}" for flag in flags if flag.default]
    nothing = {flag.name: "" if flag.type in ("string", "ip") else () for flag in flags}
    return {**nothing, **parse_command_line(PROGRAM, arguments, flags, {})}


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OptionsError(f"open {path}: {(error.strerror or '').lower()}") from None


def _read_token_file(path: str) -> Mapping[str, User]:
    # upstream 1.36: apiserver/pkg/authentication/token/tokenfile/tokenfile.go
    tokens: dict[str, User] = {}
    for row in csv.reader(_read_file(path).decode("utf-8", "replace").splitlines()):
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


def _check_server(options: KubeApiserverOptions) -> Iterator[str]:
    for name, error in _NOT_NEGATIVE:
        if options.values[name] and options.values[name] < 0:
            yield error
    if not 0 <= options.values["goaway-chance"] <= _GOAWAY_CHANCE_MAX:
        yield "--goaway-chance can not be less than 0 or greater than 0.02"


def _check_etcd(options: KubeApiserverOptions) -> Iterator[str]:
    if not options.values["etcd-servers"]:
        yield "--etcd-servers must be specified"
    if options.values["storage-backend"] not in ("", "etcd3"):
        yield "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"


def _check_serving(options: KubeApiserverOptions) -> Iterator[str]:
    if not 1 <= options.port <= _PORT_MAX:
        yield f"--secure-port {options.port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"


def _check_authentication(options: KubeApiserverOptions) -> Iterator[str]:
    seen = set()
    for issuer in options.issuers:
        if not issuer:
            yield "service-account-issuer should not be an empty string"
        elif issuer in seen:
            yield f"service-account-issuer {quote(issuer)} is already specified"
        seen.add(issuer)
    if not options.issuers:
        yield "service-account-issuer is a required flag"
    if not options.values["service-account-key-file"] and not options.values["service-account-signing-endpoint"]:
        yield "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"


def _check_authorization(options: KubeApiserverOptions) -> Iterator[str]:
    modes = options.authorization_modes
    for mode in modes:
        if mode not in _UPSTREAM_MODES:
            yield f"authorization-mode {quote(mode)} is not a valid mode"
        elif mode not in _MODES:
            yield f"authorization-mode {quote(mode)} is not simulated: use one of {', '.join(_MODES)}"
    if len(set(modes)) != len(modes):
        yield f"authorization-mode [{' '.join(map(quote, modes))}] has mode specified more than once"


def _check_admission(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: pkg/kubeapiserver/options/admission.go, Validate
    others = {"enable-admission-plugins", "disable-admission-plugins"}
    if "admission-control" in options.given and others & options.given:
        yield "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
    values = options.values
    yield from validate_flags(
        values["enable-admission-plugins"], values["disable-admission-plugins"], values["admission-control"]
    )


def _check_apis(options: KubeApiserverOptions) -> Iterator[str]:
    try:
        _ = options.runtime_config
    except ValueError as error:
        yield str(error)


def _check_service_accounts(options: KubeApiserverOptions) -> Iterator[str]:
    if not options.values["service-account-signing-key-file"] and not options.issuers:
        yield "--service-account-signing-key-file and --service-account-issuer are required flags"


def _check_cluster_ips(options: KubeApiserverOptions) -> Iterator[str]:
    texts = options.service_cidrs
    if len(texts) > 2:
        yield "--service-cluster-ip-range must not contain more than two entries"
        return
    networks = []
    for text in texts:
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError:
            yield "--service-cluster-ip-range must contain at least one valid cidr"
            return
    if len(networks) == 2 and networks[0].version == networks[1].version:
        yield "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"


def _check_not_simulated(options: KubeApiserverOptions) -> Iterator[str]:
    for name in _REFUSED:
        if options.values[name]:
            yield f"--{name} is not simulated: leave it out"


# In upstream's order, so that the first error of several is the same.
_CHECKS: Final[Sequence[Callable[[KubeApiserverOptions], Iterator[str]]]] = (
    _check_server,
    _check_etcd,
    _check_serving,
    _check_authentication,
    _check_authorization,
    _check_admission,
    _check_apis,
    _check_service_accounts,
    _check_cluster_ips,
    _check_not_simulated,
)

__all__ = ["PROGRAM", "SHORTHANDS", "FlagError", "KubeApiserverOptions", "OptionsError", "has_pem_block", "load_flags"]
