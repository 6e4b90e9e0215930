"""Options of the API server that the flags of the kube-apiserver executable ask for."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mockkube.apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from mockkube.apiserver.aggregation.transport import FrontProxyCredentials
from mockkube.apiserver.audit.auditor import Auditor
from mockkube.apiserver.audit.log_file import AuditLogFile, RotationOptions
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.filters.request_header import RequestHeaderAuthenticator
from mockkube.apiserver.http.filters.token_webhook import TokenWebhook
from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.identity.signing_keys import SigningKey, VerificationKey, parse_verification_keys
from mockkube.apiserver.identity.user import ANONYMOUS_USER
from mockkube.apiserver.server import ApiServerOptions
from mockkube.assets.file_checks import load_audit_policy
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError
from mockkube.runtime.clock import RealClock


def make_server_options(
    options: KubeApiserverOptions, base: ApiServerOptions, *, with_control_resources: bool
) -> ApiServerOptions:
    """Return the options of the API server: those of the cluster, with what the flags change."""

    values = options.values
    toleration_seconds = {
        "not_ready_seconds": values["default-not-ready-toleration-seconds"],
        "unreachable_seconds": values["default-unreachable-toleration-seconds"],
    }
    proxy_certificate, proxy_key = values["proxy-client-cert-file"], values["proxy-client-key-file"]
    front_proxy = None
    if proxy_certificate and proxy_key:
        authority = values["requestheader-client-ca-file"] or proxy_certificate
        front_proxy = FrontProxyCredentials(Path(authority), Path(proxy_certificate), Path(proxy_key))
    request_header = _make_request_header_options(options)
    return replace(
        base,
        authenticator=_make_authenticator(options, request_header),
        authorization_modes=options.authorization_modes,
        admission_plugins={DefaultTolerationSeconds.name: partial(DefaultTolerationSeconds, **toleration_seconds)},
        service_cidrs=options.service_cidrs,
        node_ports=options.node_ports,
        runtime_config=options.runtime_config,
        certificate_authority=options.read_file("client-ca-file").decode() if values["client-ca-file"] else "",
        front_proxy=front_proxy,
        request_header=request_header,
        token_issuer=_make_token_issuer(options),
        auditor=_make_auditor(options),
        additional_registry=base.additional_registry if with_control_resources else None,
        flags={name: _format_flag(values[name]) for name in sorted(options.given)},
    )


def _make_authenticator(options: KubeApiserverOptions, request_header: RequestHeaderOptions | None) -> Authenticator:

    audiences = options.values["api-audiences"] or options.issuers
    return Authenticator(
        options.tokens,
        anonymous=ANONYMOUS_USER if options.anonymous_auth else None,
        audiences=audiences,
        request_header=None if request_header is None else RequestHeaderAuthenticator(request_header),
        webhook=_make_token_webhook(options, audiences),
    )


def _make_request_header_options(options: KubeApiserverOptions) -> RequestHeaderOptions | None:
    values = options.values
    if not values["requestheader-client-ca-file"]:
        return None
    names = ("allowed-names", "username-headers", "uid-headers", "group-headers", "extra-headers-prefix")
    lists = (tuple(values[f"requestheader-{name}"]) for name in names)
    return RequestHeaderOptions(options.read_file("requestheader-client-ca-file"), *lists)


def _make_token_webhook(options: KubeApiserverOptions, audiences: Sequence[str]) -> TokenWebhook | None:
    from mockkube.client.kubeconfig import KubeconfigError, load

    values = options.values
    path = values["authentication-token-webhook-config-file"]
    if not path:
        return None
    try:
        config = load(Path(path))
    except KubeconfigError as error:
        raise OptionsError(str(error)) from None
    version, ttl = values["authentication-token-webhook-version"], values["authentication-token-webhook-cache-ttl"]
    return TokenWebhook(config, version, audiences, ttl, RealClock())


def _make_token_issuer(options: KubeApiserverOptions) -> TokenIssuer:

    key_files: Iterable[str] = options.values["service-account-key-file"]

    def load_verification_keys() -> list[VerificationKey]:
        return [key for path in key_files for key in parse_verification_keys(Path(path).read_bytes())]

    return TokenIssuer(
        options.issuers,
        audiences=options.values["api-audiences"],
        load_signing_key=lambda: SigningKey.from_pem(options.read_file("service-account-signing-key-file")),
        load_verification_keys=load_verification_keys,
        keys_url=options.values["service-account-jwks-uri"],
    )


def _make_auditor(options: KubeApiserverOptions) -> Auditor | None:
    """Return the writer of the audit log; None without a policy or a path, as upstream."""
    values = options.values
    if not values["audit-policy-file"]:
        return None

    if not values["audit-log-path"]:
        return None
    rotation = RotationOptions(
        values["audit-log-maxsize"],
        values["audit-log-maxage"],
        values["audit-log-maxbackup"],
        values["audit-log-compress"],
    )
    log = AuditLogFile(values["audit-log-path"], RealClock(), rotation)
    try:
        log.check()
    except OSError as error:
        raise OptionsError(
            f"ensureLogFile: open {values['audit-log-path']}: {(error.strerror or '').lower()}"
        ) from None
    return Auditor(load_audit_policy(options), log, RealClock(), log_format=values["audit-log-format"])


def _format_flag(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
