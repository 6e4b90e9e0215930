"""Check the files that flags name before the server starts anything, in the order and words of the real one."""

# upstream 1.36: pkg/controlplane/apiserver/config.go, BuildGenericConfig
from pathlib import Path
from typing import Final

from mockkube.apiserver.audit.policy import AuditPolicy, PolicyError, parse_policy
from mockkube.apiserver.identity.signing_keys import has_pem_block
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError, read_file
from mockkube.features.errors import quote

_TLS_VERSIONS: Final = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
_CIPHER_SUITES: Final = frozenset(
    (
        "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_RC4_128_SHA",
    )
)  # fmt: skip
# Files without an effect here, with the text about one that cannot be read.
_OTHER_FILES: Final = (
    (
        "egress-selector-config-file",
        'failed to read egress selector config: unable to read egress selector configuration from "{path}" [{error}]',
    ),
    (
        "tracing-config-file",
        'failed to read tracing config: unable to read tracing configuration from "{path}": {error}',
    ),
    (
        "encryption-provider-config",
        "error while parsing file: error while loading file: "
        'error reading encryption provider configuration file "{path}": {error}',
    ),
)
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"


def check_files(options: KubeApiserverOptions) -> None:
    """Raise OptionsError for what upstream finds wrong before it waits for etcd."""
    _check_serving(options)
    _ = options.runtime_config
    for flag, text in _OTHER_FILES:
        if path := options.values[flag]:
            try:
                options.read_file(flag)
            except OptionsError as error:
                raise OptionsError(text.format(path=path, error=error)) from None
    _check_authorities(options, "client-ca-file", "client-ca-bundle")
    _check_authorities(options, "requestheader-client-ca-file", "request-header")
    for path in options.values["service-account-key-file"]:
        _check_public_keys(path)
    _ = options.tokens
    webhook = options.values["authentication-token-webhook-config-file"]
    if webhook and not Path(webhook).exists():
        raise OptionsError(f"stat {webhook}: no such file or directory")
    if options.values["audit-policy-file"]:
        load_audit_policy(options)


def _check_serving(options: KubeApiserverOptions) -> None:
    # upstream 1.36: apiserver/pkg/server/options/serving.go, ApplyTo
    certificate, key = (options.values[flag] for flag in ("tls-cert-file", "tls-private-key-file"))
    if bool(certificate) != bool(key):
        raise OptionsError("missing filename for serving cert")
    if certificate:
        options.read_file("tls-cert-file")
        options.read_file("tls-private-key-file")
    for suite in options.values["tls-cipher-suites"]:
        if suite not in _CIPHER_SUITES:
            raise OptionsError(f"Cipher suite {suite} not supported or doesn't exist")
    version = options.values["tls-min-version"]
    if version and version not in _TLS_VERSIONS:
        raise OptionsError(f"unknown tls version {quote(version)}")


def _check_authorities(options: KubeApiserverOptions, flag: str, name: str) -> None:
    path = options.values[flag]
    if path and _CERTIFICATE not in options.read_file(flag):
        problem = "data does not contain any valid RSA or ECDSA certificates"
        raise OptionsError(f'error loading CA bundle for "{name}::{path}": {problem}')


def _check_public_keys(path: str) -> None:
    if not has_pem_block(read_file(path)):
        problem = "data does not contain any valid RSA or ECDSA public keys"
        raise OptionsError(f"error reading public key file {path}: {problem}")


def load_audit_policy(options: KubeApiserverOptions) -> AuditPolicy:
    """Return the policy that `--audit-policy-file` names; OptionsError if it is invalid."""
    path = options.values["audit-policy-file"]
    try:
        return parse_policy(options.read_file("audit-policy-file"))
    except OptionsError as error:
        raise OptionsError(f"loading audit policy file: failed to read file path {quote(path)}: {error}") from None
    except PolicyError as error:
        raise OptionsError(f"loading audit policy file: {path}: {error}") from None
