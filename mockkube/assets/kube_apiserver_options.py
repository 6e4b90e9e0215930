"""Options of the kube-apiserver executable: parse and validate its flags as the real one does."""

# upstream 1.36: pkg/controlplane/apiserver/options, pkg/kubeapiserver/options, apiserver/pkg/server/options
import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

from mockkube.api.catalogue import KINDS
from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.admission.catalogue import list_plugins_besides, validate_flags
from mockkube.apiserver.authorization.authorizer import ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import NODE_PORTS, SERVICE_CIDR
from mockkube.assets.command_line import Flag, list_deprecations, parse_command_line, parse_flags_table
from mockkube.features.components import API_SERVER
from mockkube.features.errors import FlagError, quote
from mockkube.features.flags import ParsedFlags, parse_flags
from mockkube.features.versions import Version
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
_UPSTREAM_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, "ABAC", "Webhook", RBAC, NODE)
_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC)
# Flags whose effect cannot be left out silently: a test that sets them checks who may do what.
REFUSED: Final = ("authorization-config", "authentication-config", "oidc-issuer-url")
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
_SERVICE_ADDRESSES_MIN: Final = 8
_TOKEN_SECONDS_MIN: Final = 3600
_TOKEN_SECONDS_MAX: Final = 1 << 32
_SIZE: Final = re.compile(r"[+-]?\d+")
_STORAGE_MEDIA_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_AUDIT_MODES: Final = ("batch", "blocking", "blocking-strict")
_AUDIT_FORMATS: Final = ("legacy", "json")


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
        return cls({**_default_values(flags), **given}, frozenset(given), binary_version)

    @cached_property
    def effective_flags(self) -> ParsedFlags:
        """Effective version and feature gates; OptionsError if they are invalid."""
        flags: dict[str, Sequence[str]] = {}
        for name in _VERSION_FLAGS:
            if name in self.given:
                value = self.values[name]
                flags[name] = [str(value).lower()] if isinstance(value, bool) else value
        try:
            return parse_flags(API_SERVER, self.binary_version, flags)
        except FlagError as error:
            raise OptionsError(str(error)) from None

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
        _ = self.effective_flags
        for complete in _COMPLETIONS:
            for error in complete(self):
                raise OptionsError(error)
        errors = list(dict.fromkeys(chain(*(check(self) for check in _CHECKS))))
        if errors:
            raise OptionsError(aggregate_messages(errors))


@cache
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


def _complete_cluster_ips(options: KubeApiserverOptions) -> Iterator[str]:
    texts = options.service_cidrs
    primary = _parse_network(texts[0])
    if primary is None:
        yield "service-cluster-ip-range[0] is not a valid cidr"
    elif primary.num_addresses < _SERVICE_ADDRESSES_MIN:
        yield (
            "error determining service IP ranges for primary service cidr: "
            f"the service cluster IP range must be at least {_SERVICE_ADDRESSES_MIN} IP addresses"
        )
    if len(texts) > 1 and _parse_network(texts[1]) is None:
        yield "service-cluster-ip-range[1] is not an ip net"


def _complete_token_expiration(options: KubeApiserverOptions) -> Iterator[str]:
    expiration = options.values["service-account-max-token-expiration"]
    if expiration and not _TOKEN_SECONDS_MIN <= expiration <= _TOKEN_SECONDS_MAX:
        yield "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds"


def _complete_watch_cache(options: KubeApiserverOptions) -> Iterator[str]:
    for text in options.values["watch-cache-sizes"]:
        _, separator, size = text.partition("#")
        if not separator or "#" in size:
            yield f"invalid value of watch cache size: {text}"
        elif not _SIZE.fullmatch(size):
            yield f"invalid size of watch cache size: {text}"
        elif size.startswith("-"):
            yield f"watch cache size cannot be negative: {text}"


# In upstream's order: it ends at the first error.
_COMPLETIONS: Final[Sequence[Callable[[KubeApiserverOptions], Iterator[str]]]] = (
    _complete_cluster_ips,
    _complete_token_expiration,
    _complete_watch_cache,
)


def _parse_network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


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
    media_type = options.values["storage-media-type"]
    if media_type and media_type not in _STORAGE_MEDIA_TYPES:
        allowed = ", ".join(_STORAGE_MEDIA_TYPES)
        yield f"--storage-media-type {quote(media_type)} invalid, allowed values: {allowed}"


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
    keys_url = options.values["service-account-jwks-uri"]
    if keys_url and not keys_url.lower().startswith("https:"):
        yield f"service-account-jwks-uri requires https scheme, parsed as: {keys_url}"


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
    networks = [network for network in map(_parse_network, texts) if network is not None]
    if len(texts) > 2:
        yield "--service-cluster-ip-range must not contain more than two entries"
    elif len(networks) == 2 and networks[0].version == networks[1].version:
        yield "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"


def _check_node_port(options: KubeApiserverOptions) -> Iterator[str]:
    port, ports = options.values["kubernetes-service-node-port"], options.values["service-node-port-range"]
    if not 0 <= port <= _PORT_MAX:
        limits = "must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP"
        yield f"--kubernetes-service-node-port {port} {limits}"
    if port > 0 and port not in ports:
        shown = f"{ports[0]}-{ports[-1]}" if ports else ""
        yield f"kubernetes service node port range {shown} doesn't contain {port}"
    count = options.values["apiserver-count"]
    if count <= 0:
        yield f"--apiserver-count should be a positive number, but value '{count}' provided"


def _check_audit(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: apiserver/pkg/server/options/audit.go, Validate
    values = options.values
    if not values["audit-log-path"]:
        return
    mode, size = values["audit-log-mode"], values["audit-log-batch-buffer-size"]
    if mode not in _AUDIT_MODES:
        yield f'invalid audit log mode {mode}, allowed modes are "{",".join(_AUDIT_MODES)}"'
    elif mode == "batch" and size <= 0:
        yield f"invalid audit batch log buffer size {size}, must be a positive number"
    if values["audit-log-format"] not in _AUDIT_FORMATS:
        allowed = ",".join(_AUDIT_FORMATS)
        yield f'invalid audit log format {values["audit-log-format"]}, allowed formats are "{allowed}"'
    for name in ("audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"):
        if values[name] < 0:
            yield f"--{name} {values[name]} can't be a negative number"


def _check_not_simulated(options: KubeApiserverOptions) -> Iterator[str]:
    for name in REFUSED:
        if options.values[name]:
            yield f"--{name} is not simulated: leave it out"


# In upstream's order, so that the first error of several is the same.
_CHECKS: Final[Sequence[Callable[[KubeApiserverOptions], Iterator[str]]]] = (
    _check_server,
    _check_etcd,
    _check_serving,
    _check_authentication,
    _check_authorization,
    _check_audit,
    _check_admission,
    _check_apis,
    _check_service_accounts,
    _check_cluster_ips,
    _check_node_port,
    _check_not_simulated,
)
