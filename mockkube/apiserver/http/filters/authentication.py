"""Authenticate requests by client certificate or bearer token, or as the anonymous user."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from hmac import compare_digest
from typing import Any, Final

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.http.filters.request_header import RequestHeaderAuthenticator
from mockkube.apiserver.http.filters.token_webhook import TokenWebhook
from mockkube.apiserver.http.web import BaseRequest
from mockkube.apiserver.identity.user import (
    ANONYMOUS_USER,
    CREDENTIAL_ID,
    DEFAULT_AUDIENCE,
    AuthenticatedUser,
    InvalidCredentials,
    TokenAuthenticatorFunction,
    User,
    with_authenticated_group,
)

# Certificates whose check is remembered: parsing one takes far longer than the rest of authentication.
_CERTIFICATES_MAX: Final = 256
BEARER_PROTOCOL: Final = "base64url.bearer.authorization.k8s.io."
"""Prefix of a subprotocol that is a token."""
_PROTOCOL_HEADER: Final = "Sec-WebSocket-Protocol"


class Authenticator:
    """Authenticates requests: client certificate first, then bearer token, then `anonymous`.

    `token_authenticators` authenticate tokens that are not in the fixed table, as those of service accounts are; the
    first that knows a token decides. With `anonymous=None` a request without credentials is refused.
    """

    def __init__(
        self,
        tokens: Mapping[str, User],
        *,
        token_authenticators: Iterable[TokenAuthenticatorFunction] = (),
        anonymous: User | None = ANONYMOUS_USER,
        audiences: Iterable[str] = (DEFAULT_AUDIENCE,),
        request_header: RequestHeaderAuthenticator | None = None,
        webhook: TokenWebhook | None = None,
    ) -> None:
        self._tokens = [(_encode_token(token), with_authenticated_group(user)) for token, user in tokens.items()]
        self._token_authenticators = tuple(token_authenticators)
        self._anonymous = anonymous
        self._audiences = tuple(audiences)
        self._request_header = request_header
        # Asked, without blocking the event loop, about tokens that no other authenticator knows.
        self.webhook = webhook

    def with_token_authenticators(self, *token_authenticators: TokenAuthenticatorFunction) -> "Authenticator":
        """Return a copy with further token authenticators."""
        more = copy(self)
        more._token_authenticators = (*self._token_authenticators, *token_authenticators)
        return more

    def authenticate(self, request: BaseRequest) -> User | None:
        """Return the user of the request, None without credentials and with anonymous requests disabled.

        Raise InvalidCredentials for an unknown token, and for a certificate that is not a client's if there is no token
        besides.
        """
        token = bearer_token(request.headers.get("Authorization", "")) or find_websocket_token(request)
        try:
            if (user := self._authenticate_certificate(request)) is not None:
                return user
        except InvalidCredentials:
            # upstream's union authenticator tries the next authenticator after a failed certificate.
            if token is None:
                raise
        return self._anonymous if token is None else self.authenticate_token(token).user

    def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> AuthenticatedUser:
        """Return the user of a token for one of the audiences, by default the API's; else raise InvalidCredentials.

        The webhook is not asked: see `review_token`.
        """
        found = self._find_user(token, audiences)
        if isinstance(found, AuthenticatedUser):
            return found
        raise InvalidCredentials(aggregate_messages(found))

    async def review_token(self, token: str, audiences: Sequence[str] = ()) -> AuthenticatedUser:
        """Return the user of a token as `authenticate_token` does, and ask the webhook about unknown ones."""
        found = self._find_user(token, audiences)
        if not isinstance(found, AuthenticatedUser) and self.webhook is not None:
            try:
                reviewed = await self.webhook.authenticate_token(token, tuple(audiences) or self._audiences)
            except InvalidCredentials as error:
                found.append(str(error))
            else:
                if reviewed is not None:
                    return replace(reviewed, user=with_authenticated_group(reviewed.user))
        if isinstance(found, AuthenticatedUser):
            return found
        raise InvalidCredentials(aggregate_messages(found))

    def _find_user(self, token: str, audiences: Sequence[str]) -> AuthenticatedUser | list[str]:
        """Return the user of a token, or why each authenticator rejects it."""
        requested = tuple(audiences) or self._audiences
        presented, found = _encode_token(token), None
        for known, user in self._tokens:  # all of them, each in constant time: the duration tells nothing
            if compare_digest(known, presented):
                found = user
        own = tuple(one for one in self._audiences if one in audiences) if audiences else self._audiences
        if found is not None and own:
            return AuthenticatedUser(found, own)
        # Authenticators that reject the token add their reason, as upstream aggregates all errors.
        errors = ["invalid bearer token"]
        for authenticate in self._token_authenticators:
            try:
                authenticated = authenticate(token, requested)
            except InvalidCredentials as error:
                errors.append(str(error))
            else:
                if authenticated is not None:
                    return replace(authenticated, user=with_authenticated_group(authenticated.user))
        return errors

    def _authenticate_certificate(self, request: BaseRequest) -> User | None:
        """Return the user of the connection's client certificate, or the one that a proxy with a certificate names."""
        transport = request.transport
        if transport is None or not (certificate := transport.get_extra_info("peercert")):
            return None
        encoded: bytes = transport.get_extra_info("ssl_object").getpeercert(True) or b""
        proxies = self._request_header
        if proxies is not None and proxies.is_proxy_certificate(encoded):
            user = proxies.authenticate(encoded, request.headers)
            return None if user is None else with_authenticated_group(user)
        return _certificate_user(certificate, encoded)


def find_websocket_token(request: BaseRequest) -> str | None:
    """Return the token that a web page sends as a subprotocol of a WebSocket, as browsers let it set no header.

    Raise InvalidCredentials if it is malformed.
    """
    # upstream 1.36: apiserver/pkg/authentication/request/websocket/protocol.go
    if (
        _PROTOCOL_HEADER not in request.headers
        or "upgrade" not in request.headers.get("Connection", "").lower()
        or request.headers.get("Upgrade", "").lower() != "websocket"
    ):
        return None
    protocols = [one.strip() for text in request.headers.getall(_PROTOCOL_HEADER) for one in text.split(",")]
    tokens = [one.removeprefix(BEARER_PROTOCOL) for one in protocols if one.startswith(BEARER_PROTOCOL)]
    if not any(tokens):
        return None
    if len(tokens) > 1:
        raise InvalidCredentials("multiple base64.bearer.authorization tokens specified")
    if len(protocols) == 1:
        raise InvalidCredentials("missing additional subprotocol")
    try:
        return base64.b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise InvalidCredentials("invalid base64.bearer.authorization token encoding") from None


def bearer_token(authorization: str) -> str | None:
    """Return the token of an `Authorization` header, None for another scheme or an empty one."""
    # upstream 1.36: apiserver/pkg/authentication/request/bearertoken/bearertoken.go
    scheme, _, rest = authorization.strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    return rest.partition(" ")[0] or None


def certificate_user(certificate: Mapping[str, Any], digest: str) -> User | None:
    """Return the user a verified certificate names: CN is the name, each O a group. None without a CN."""
    # upstream 1.36: apiserver/pkg/authentication/request/x509/x509.go
    subject: Sequence[Sequence[tuple[str, str]]] = certificate.get("subject", ())
    attributes = [attribute for relative_name in subject for attribute in relative_name]
    names = [value for key, value in attributes if key == "commonName"]
    if not names or not names[-1]:
        return None
    groups = tuple(value for key, value in attributes if key == "organizationName")
    return User(names[-1], groups=groups, extra={CREDENTIAL_ID: (f"X509SHA256={digest}",)})


@lru_cache(maxsize=_CERTIFICATES_MAX)  # hot: per request with a certificate
def is_client_certificate(encoded: bytes) -> bool:
    """Return whether a DER certificate allows client authentication and is not a CA's own."""
    # differs: upstream takes a certificate that names no use for any, which the authority's own does not either
    from cryptography import x509  # 50 ms, for servers that are shown a certificate
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        extensions = x509.load_der_x509_certificate(encoded).extensions
        usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    issues = [one.value.ca for one in extensions if isinstance(one.value, x509.BasicConstraints)]
    return ExtendedKeyUsageOID.CLIENT_AUTH in usage and not any(issues)


def _certificate_user(certificate: Mapping[str, Any], encoded: bytes) -> User | None:
    """Return the user of a client certificate, whose issuer the TLS handshake has verified."""
    if not is_client_certificate(encoded):
        raise InvalidCredentials("x509: certificate specifies an incompatible key usage")
    user = certificate_user(certificate, hashlib.sha256(encoded).hexdigest())
    return None if user is None else with_authenticated_group(user)


def _encode_token(token: str) -> bytes:
    return token.encode("utf-8", "surrogateescape")  # headers carry undecodable bytes as surrogates
