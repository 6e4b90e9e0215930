"""Authenticate users whom an authenticating proxy names in headers."""

# upstream 1.36: apiserver/pkg/authentication/request/headerrequest/requestheader.go
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from cachetools import LRUCache
from multidict import CIMultiDictProxy

from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions
from mockkube.apiserver.identity.user import User

if TYPE_CHECKING:
    from cryptography import x509

# Certificates whose issuer is remembered: parsing one takes far longer than the rest of authentication.
_CERTIFICATES_MAX: Final = 256


class RequestHeaderAuthenticator:
    """Authenticator for requests of proxies, which show a client certificate of their own CA."""

    def __init__(self, options: RequestHeaderOptions) -> None:
        self._options = options
        self._names: LRUCache[str, str | None] = LRUCache(_CERTIFICATES_MAX)

    def is_proxy_certificate(self, encoded: bytes) -> bool:
        """Return whether a DER certificate is one of the proxies' CA; it says nothing about users then."""
        return self._find_name(encoded) is not None

    def authenticate(self, encoded: bytes, headers: CIMultiDictProxy[str]) -> User | None:
        """Return the user that the headers name; None if the certificate is not a proxy's, or they name none."""
        options, name = self._options, self._find_name(encoded)
        if name is None or (options.allowed_names and name not in options.allowed_names):
            return None
        username = _first_value(headers, options.username_headers)
        if not username:
            return None
        return User(
            username,
            _first_value(headers, options.uid_headers),
            tuple(_all_values(headers, options.group_headers)),
            _extra_values(headers, options.extra_prefixes),
        )

    def _find_name(self, encoded: bytes) -> str | None:
        """Return the common name of a certificate of the proxies' CA, None for any other."""
        digest = hashlib.sha256(encoded).hexdigest()
        if digest not in self._names:
            self._names[digest] = _verified_common_name(encoded, self._options.authority)
        return self._names[digest]


def _verified_common_name(encoded: bytes, authority: bytes) -> str | None:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.x509.oid import NameOID

    certificate = x509.load_der_x509_certificate(encoded)
    for issuer in x509.load_pem_x509_certificates(authority):
        try:
            # The handshake has verified the certificate, but not by which of the server's CAs.
            certificate.verify_directly_issued_by(issuer)
        except (InvalidSignature, ValueError, TypeError):
            continue
        return _common_name(certificate, NameOID.COMMON_NAME)
    return None


def _common_name(certificate: "x509.Certificate", oid: "x509.ObjectIdentifier") -> str:
    names = certificate.subject.get_attributes_for_oid(oid)
    return str(names[-1].value) if names else ""


def _first_value(headers: CIMultiDictProxy[str], names: Iterable[str]) -> str:
    return next((value for name in names if (value := headers.get(name, ""))), "")


def _all_values(headers: CIMultiDictProxy[str], names: Iterable[str]) -> Iterable[str]:
    return (value for name in names for value in headers.getall(name, ()) if value)


def _extra_values(headers: CIMultiDictProxy[str], prefixes: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in prefixes:
        for name, value in headers.items():
            if name.lower().startswith(prefix.lower()):
                key = unquote(name[len(prefix) :].lower())
                extra[key] = (*extra.get(key, ()), value)
    return extra
