"""Validate options of the kube-apiserver executable as the real one does, with its error texts in its order."""

# upstream 1.36: cmd/kube-apiserver/app/options, pkg/controlplane/apiserver/options, pkg/kubeapiserver/options
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import chain
from typing import Final

from mockkube_cel.golang import goregexp, gourl

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.admission.catalogue import validate_flags
from mockkube.apiserver.authorization.authorizer import ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC
from mockkube.apiserver.identity.signing_keys import has_pem_block
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError
from mockkube.features.errors import quote
from mockkube.features.flags import list_version_errors

_UPSTREAM_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, "ABAC", "Webhook", RBAC, NODE)
_MODES: Final = (ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC)
# Flags whose effect cannot be left out silently: a test that sets them checks who may do what.
REFUSED: Final = ("authorization-config", "authentication-config", "oidc-issuer-url")
_NOT_NEGATIVE: Final = (
    ("livez-grace-period", "--livez-grace-period can not be a negative value"),
    ("max-requests-inflight", "--max-requests-inflight can not be negative value"),
    ("max-mutating-requests-inflight", "--max-mutating-requests-inflight can not be negative value"),
    ("request-timeout", "--request-timeout can not be negative value"),
)
_FURTHER_NOT_NEGATIVE: Final = (
    ("min-request-timeout", "--min-request-timeout can not be negative value"),
    ("storage-initialization-timeout", "--storage-initialization-timeout can not be negative value"),
    ("shutdown-delay-duration", "--shutdown-delay-duration can not be negative value"),
    (
        "shutdown-watch-termination-grace-period",
        "shutdown-watch-termination-grace-period, if provided, can not be a negative value",
    ),
)
_CORS_HELP: Final = (
    "List of allowed origins for CORS, comma separated. An allowed origin can be a regular expression to support "
    "subdomain matching. If this list is empty CORS will not be enabled. Please ensure each expression matches the "
    "entire hostname by anchoring to the start with '^' or including the '//' prefix, and by anchoring to the end "
    "with '$' or including the ':' port separator suffix. Examples of valid expressions are '//example\\.com(:|$)' "
    "and '^https://example\\.com(:|$)'"
)
_HSTS_ERROR: Final = (
    "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. "
    "see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
)
_LOG_FORMATS: Final = ("text", "json")
_METRIC: Final = "[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL: Final = "[a-zA-Z_][a-zA-Z0-9_]*"
# Flags beside which upstream refuses --authorization-config.
_AUTHORIZATION_FLAGS: Final = frozenset(
    (
        "authorization-mode",
        "authorization-webhook-config-file",
        "authorization-webhook-version",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
    )
)
# Addresses for documentation: connecting a UDP socket to one sends nothing, and shows the address of the default route.
_PROBED_ADDRESSES: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
_PORT_MAX: Final = 65535
_GOAWAY_CHANCE_MAX: Final = 0.02
_SERVICE_ADDRESSES_MIN: Final = 8
_TOKEN_SECONDS_MIN: Final = 3600
_TOKEN_SECONDS_MAX: Final = 1 << 32
_SIZE: Final = re.compile(r"[+-]?\d+")
_STORAGE_MEDIA_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_AUDIT_MODES: Final = ("batch", "blocking", "blocking-strict")
_AUDIT_FORMATS: Final = ("legacy", "json")


def validate_options(options: KubeApiserverOptions) -> None:
    """Raise OptionsError with all that upstream finds wrong before it starts anything."""
    _ = options.effective_flags
    for complete in _COMPLETIONS:
        for error in complete(options):
            raise OptionsError(error)
    errors = [*chain(*(check(options) for check in _CHECKS))] or [*_check_not_simulated(options)]
    if errors:
        raise OptionsError(aggregate_messages(errors))


def _complete_logging(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: component-base/logs/api/v1/options.go, Validate
    log_format = options.values["logging-format"]
    errors = []
    if log_format and log_format not in _LOG_FORMATS:
        errors.append(f"format: Invalid value: {quote(log_format)}: Unsupported log format")
    if options.values["vmodule"] and log_format not in ("", "text"):
        errors.append("vmodule: Forbidden: Only supported for text log format")
    if errors:
        yield aggregate_messages(errors)


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


def _complete_signing_key(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: client-go/util/keyutil/key.go, PrivateKeyFromFile
    path = options.values["service-account-signing-key-file"]
    if not path or not options.issuers or not options.issuers[0]:
        return
    try:
        content = options.read_file("service-account-signing-key-file")
    except OptionsError as error:
        yield f"failed to parse service-account-issuer-key-file: {error}"
        return
    if not has_pem_block(content):
        problem = f"error reading private key file {path}: data does not contain a valid RSA or ECDSA private key"
        yield f"failed to parse service-account-issuer-key-file: {problem}"


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
    _complete_logging,
    _complete_cluster_ips,
    _complete_token_expiration,
    _complete_signing_key,
    _complete_watch_cache,
)


def _parse_network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def _check_server(options: KubeApiserverOptions) -> Iterator[str]:
    yield from _list_negative(options, _NOT_NEGATIVE)
    if not 0 <= options.values["goaway-chance"] <= _GOAWAY_CHANCE_MAX:
        yield "--goaway-chance can not be less than 0 or greater than 0.02"
    yield from _list_negative(options, _FURTHER_NOT_NEGATIVE)
    for directive in options.values["strict-transport-security-directives"]:
        if not directive.strip():
            yield "empty value in strict-transport-security-directives"
        elif directive not in ("includeSubDomains", "preload"):
            name, separator, value = directive.partition("=")
            if name != "max-age" or not separator or "=" in value:
                yield _HSTS_ERROR
    yield from _check_origins(options.values["cors-allowed-origins"])
    yield from list_version_errors(options.effective_flags.effective_version, options.version_flags)


def _list_negative(options: KubeApiserverOptions, flags: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (error for name, error in flags if options.values[name] and options.values[name] < 0)


def _check_origins(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        if not pattern:
            yield f"empty value in --cors-allowed-origins, help: {_CORS_HELP}"
            continue
        problem = ""
        try:
            goregexp.compile_pattern(pattern)
        except goregexp.RegexError as error:
            problem = str(error)
        else:
            starts, ends = any(one in pattern for one in ("^", "//")), any(one in pattern for one in ("$", ":"))
            if not (starts and ends):
                problem = "regular expression does not pin to start/end of host in the origin header"
        if problem:
            yield f"--cors-allowed-origins has an invalid regular expression: {problem}, help: {_CORS_HELP}"


def _check_etcd(options: KubeApiserverOptions) -> Iterator[str]:
    if not options.values["etcd-servers"]:
        yield "--etcd-servers must be specified"
    if options.values["storage-backend"] not in ("", "etcd3"):
        yield "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"
    if any(not _is_etcd_override(one) for one in options.values["etcd-servers-overrides"]):
        yield (
            "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, "
            "semicolon separated"
        )
    reloads, provider = (options.values[f"encryption-provider-config{end}"] for end in ("-automatic-reload", ""))
    if reloads and not provider:
        yield "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"
    media_type = options.values["storage-media-type"]
    if media_type and media_type not in _STORAGE_MEDIA_TYPES:
        allowed = ", ".join(_STORAGE_MEDIA_TYPES)
        yield f"--storage-media-type {quote(media_type)} invalid, allowed values: {allowed}"


def _is_etcd_override(text: str) -> bool:
    resource, separator, servers = text.partition("#")
    return bool(separator) and "#" not in servers and resource.count("/") == 1 and all(servers.split(";"))


def _check_priority_and_fairness(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: pkg/controlplane/apiserver/options/validation.go: it looks for texts in the flag as it is printed
    shown = ",".join(sorted(f"{key}={value}" for key, value in options.runtime_settings.items()))
    if not options.values["enable-priority-and-fairness"]:
        return
    for key in ("flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"):
        if f"{key}=false" in shown:
            yield f"--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"
        if f"{key}=true" in shown or f"{key}=false" in shown:
            return


def _check_serving(options: KubeApiserverOptions) -> Iterator[str]:
    if not 1 <= options.port <= _PORT_MAX:
        yield f"--secure-port {options.port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"


def _check_authentication(options: KubeApiserverOptions) -> Iterator[str]:
    values = options.values
    oidc_flags = {name for name in options.given if name.startswith("oidc-")}
    if values["authentication-config"]:
        if oidc_flags:
            yield "authentication-config file and oidc-* flags are mutually exclusive"
    elif oidc_flags and not (values["oidc-issuer-url"] and values["oidc-client-id"]):
        yield "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
    yield from _check_issuers(options.issuers)
    if not options.issuers:
        yield "service-account-issuer is a required flag"
    if not values["service-account-key-file"] and not values["service-account-signing-endpoint"]:
        yield "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"
    if keys_url := values["service-account-jwks-uri"]:
        try:
            parsed = gourl.parse(keys_url)
        except gourl.UrlError as error:
            yield f"service-account-jwks-uri must be a valid URL: {error}"
        else:
            if parsed.scheme != "https":
                yield f"service-account-jwks-uri requires https scheme, parsed as: {parsed}"
    yield from _check_request_header(options)


def _check_issuers(issuers: Iterable[str]) -> Iterator[str]:
    seen = set()
    for issuer in issuers:
        if ":" in issuer:
            try:
                gourl.parse(issuer)
            except gourl.UrlError as error:
                yield f"service-account-issuer {quote(issuer)} contained a ':' but was not a valid URL: {error}"
                continue
        if not issuer:
            yield "service-account-issuer should not be an empty string"
        elif issuer in seen:
            yield f"service-account-issuer {quote(issuer)} is already specified"
        seen.add(issuer)


def _check_request_header(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: apiserver/pkg/server/options/authentication.go
    names = ["username-headers", "group-headers", "extra-headers-prefix", "allowed-names"]
    uid_headers = options.values["requestheader-uid-headers"]
    is_enabled = options.is_enabled("RemoteRequestHeaderUID")
    for name in [*names, *(["uid-headers"] if is_enabled else [])]:
        if any(not value.strip() for value in options.values[f"requestheader-{name}"]):
            yield f'empty value in "requestheader-{name}"'
    if uid_headers and not is_enabled:
        yield '--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be enabled'
    elif uid_headers and "x-remote-uid" not in map(str.lower, uid_headers):
        yield (
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - "
            "API aggregation will not work"
        )


def _check_authorization(options: KubeApiserverOptions) -> Iterator[str]:
    values, modes = options.values, options.authorization_modes
    if values["authorization-config"]:
        if options.given & _AUTHORIZATION_FLAGS:
            flags = "--authorization-mode or --authorization-webhook-* flags"
            yield f"--authorization-config can not be specified when {flags} are defined"
        return
    policy, webhook = values["authorization-policy-file"], values["authorization-webhook-config-file"]
    for mode in modes:
        if mode not in _UPSTREAM_MODES:
            yield f"authorization-mode {quote(mode)} is not a valid mode"
        if mode == "ABAC" and not policy:
            yield "authorization-mode ABAC's authorization policy file not passed"
        if mode == "Webhook" and not webhook:
            yield "authorization-mode Webhook's authorization config file not passed"
    if policy and "ABAC" not in modes:
        yield "cannot specify --authorization-policy-file without mode ABAC"
    if webhook and "Webhook" not in modes:
        yield "cannot specify --authorization-webhook-config-file without mode Webhook"
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
        options.validate_runtime_config()
    except ValueError as error:
        yield str(error)


def _check_token_requests(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: pkg/controlplane/apiserver/options/validation.go, validateTokenRequest
    key, has_issuer = options.values["service-account-signing-key-file"], bool(options.issuers and options.issuers[0])
    if not (key or has_issuer or options.values["api-audiences"]):
        yield "--service-account-signing-key-file and --service-account-issuer are required flags"
    elif not (has_issuer and (key or options.values["service-account-signing-endpoint"])):
        yield (
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences "
            "should be specified together"
        )


def _check_metrics(options: KubeApiserverOptions) -> Iterator[str]:
    # upstream 1.36: component-base/metrics/api/v1/config.go
    values = options.values
    shown, previous = values["show-hidden-metrics-for-version"], options.binary_version.earlier(1)
    if shown and shown != str(previous):
        yield (
            f"metrics.showHiddenMetricsForVersion: Invalid value: {quote(shown)}: must be omitted or have the value "
            f"'{previous}'; only the previous minor version is allowed"
        )
    for name in values["disabled-metrics"]:
        if not re.fullmatch(_METRIC, name):
            listed = f"[{','.join(map(quote, values['disabled-metrics']))}]"
            wanted = f"must be fully qualified metric names matching {quote(f'^{_METRIC}$')}, got {quote(name)}"
            yield f"metrics.disabledMetrics: Invalid value: {listed}: {wanted}"
            break
    labels = values["allow-metric-labels"] or {}
    if not all(re.fullmatch(f"{_METRIC},{_LABEL}", key) for key in labels):
        listed = "{" + ",".join(f"{quote(key)}:{quote(value)}" for key, value in sorted(labels.items())) + "}"
        yield (
            f"metrics.allowListMapping: Invalid value: {listed}: must have keys with format `metricName,labelName` "
            f"where metricName matches {quote(_METRIC)} and labelName matches {quote(_LABEL)}"
        )


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


def _check_address_families(options: KubeApiserverOptions) -> Iterator[str]:
    network = _parse_network(options.service_cidrs[0])
    if network is None or options.values["endpoint-reconciler-type"] == "none":
        return
    address = _find_advertise_address(options)
    if address and ip_address(address).version != network.version:
        yield f'service IP family "{network}" must match public address family "{address}"'


def _find_advertise_address(options: KubeApiserverOptions) -> str:
    """Return the address that upstream advertises; empty if it cannot be found here."""
    for text in (options.values["advertise-address"], options.bind_address):
        if text and not ip_address(text).is_unspecified and not ip_address(text).is_loopback:
            return str(text)
    for probed, family in _PROBED_ADDRESSES:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((probed, 1))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return ""


def _check_server_count(options: KubeApiserverOptions) -> Iterator[str]:
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
    for mode in options.authorization_modes:
        if mode not in _MODES:
            yield f"authorization-mode {quote(mode)} is not simulated: use one of {', '.join(_MODES)}"
    for name in REFUSED:
        if options.values[name]:
            yield f"--{name} is not simulated: leave it out"


# In upstream's order, so that the first error of several is the same.
_CHECKS: Final[Sequence[Callable[[KubeApiserverOptions], Iterator[str]]]] = (
    _check_server,
    _check_etcd,
    _check_priority_and_fairness,
    _check_serving,
    _check_authentication,
    _check_authorization,
    _check_audit,
    _check_admission,
    _check_apis,
    _check_token_requests,
    _check_metrics,
    _check_cluster_ips,
    _check_node_port,
    _check_address_families,
    _check_server_count,
)
