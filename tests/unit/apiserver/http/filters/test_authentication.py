"""Who is behind a request, and that a bad credential is never taken for somebody else."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, cast

import pytest
from aiohttp.web import BaseRequest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from mockkube.apiserver.http.filters.authentication import Authenticator, bearer_token, certificate_user
from mockkube.apiserver.identity.user import ANONYMOUS_USER, UNSECURED_USER, AuthenticatedUser, InvalidCredentials, User

ADMIN = User("admin", groups=("system:masters",))


KEY = ec.generate_private_key(ec.SECP256R1())


def encoded(
    *,
    uses: Sequence[x509.ObjectIdentifier] | None = (x509.ExtendedKeyUsageOID.CLIENT_AUTH,),
    authority: bool | None = False,
) -> bytes:
    """A certificate in DER, for these uses, that says of itself whether it is an authority's."""
    name = x509.Name([])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), 1, now, now + timedelta(days=1))
    if uses is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    if authority is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


CLIENTS = encoded()


class Peer:
    """The TLS side of a connection, as a transport shows it."""

    def __init__(self, certificate: Mapping[str, Any], der: bytes = CLIENTS) -> None:
        self._extra = {"peercert": certificate, "ssl_object": self}
        self._der = der

    def get_extra_info(self, name: str) -> object:
        return self._extra[name]

    def getpeercert(self, binary_form: bool) -> bytes:
        assert binary_form
        return self._der


class Request:
    """The two things the authenticator reads of a request."""

    def __init__(self, authorization: str | None, certificate: Mapping[str, Any] | None, der: bytes) -> None:
        self.headers = {} if authorization is None else {"Authorization": authorization}
        self.transport = None if certificate is None else Peer(certificate, der)


def request(
    authorization: str | None = None, certificate: Mapping[str, Any] | None = None, der: bytes = CLIENTS
) -> BaseRequest:
    return cast("BaseRequest", Request(authorization, certificate, der))


def certificate(*attributes: tuple[str, str]) -> dict[str, Any]:
    return {"subject": tuple((attribute,) for attribute in attributes)}


@pytest.mark.parametrize(
    ("header", "token"),
    [
        pytest.param("Bearer abc", "abc", id="plain"),
        pytest.param("bEARER abc", "abc", id="scheme in any case"),
        pytest.param("  Bearer abc  ", "abc", id="surrounding spaces"),
        pytest.param("Bearer abc def", "abc", id="only the first word counts"),
        pytest.param("Bearer", None, id="no token"),
        pytest.param("Bearer  abc", None, id="empty token before a second space"),
        pytest.param("Basic abc", None, id="another scheme"),
        pytest.param("", None, id="empty header"),
    ],
)
def test_the_bearer_token_of_a_header(header: str, token: str | None) -> None:
    assert bearer_token(header) == token


def test_a_known_token_names_its_user_who_is_also_authenticated() -> None:
    user = Authenticator({"other": User("other"), "secret": ADMIN}).authenticate(request("Bearer secret"))
    assert user == User("admin", groups=("system:masters", "system:authenticated"))


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("secre", id="a prefix of a known token"),
        pytest.param("secretX", id="a known token and more"),
        pytest.param("\udcff\udcfe", id="bytes that are no text"),
    ],
)
def test_an_unknown_token_is_an_error_and_not_anonymous(token: str) -> None:
    with pytest.raises(InvalidCredentials):
        Authenticator({"secret": ADMIN}).authenticate(request(f"Bearer {token}"))


@pytest.mark.parametrize("anonymous", [ANONYMOUS_USER, UNSECURED_USER, None])
def test_without_credentials_the_user_is_what_the_server_says(anonymous: User | None) -> None:
    assert Authenticator({"secret": ADMIN}, anonymous=anonymous).authenticate(request()) == anonymous


def test_an_unsecured_server_still_refuses_a_wrong_token() -> None:
    with pytest.raises(InvalidCredentials):
        Authenticator({}, anonymous=UNSECURED_USER).authenticate(request("Bearer wrong"))


ACCOUNT = User("system:serviceaccount:ns:sa", uid="u", groups=("system:serviceaccounts",))


def issued_only(token: str, audiences: Sequence[str]) -> AuthenticatedUser | None:
    if token == "expired":
        raise InvalidCredentials("service account token has expired")
    return AuthenticatedUser(ACCOUNT, tuple(audiences)) if token == "issued" else None


def test_a_reviewer_is_asked_for_tokens_that_are_in_no_table() -> None:
    authenticator = Authenticator({"secret": ADMIN}).with_token_authenticators(issued_only)
    user = authenticator.authenticate(request("Bearer issued"))
    assert user is not None
    assert user.name == "system:serviceaccount:ns:sa"
    assert user.groups == ("system:serviceaccounts", "system:authenticated")
    with pytest.raises(InvalidCredentials):
        authenticator.authenticate(request("Bearer never issued"))


def test_what_a_reviewer_objects_to_is_told_besides_that_the_token_is_bad() -> None:
    with pytest.raises(InvalidCredentials) as refused:
        Authenticator({}, token_authenticators=[issued_only]).authenticate_token("expired")
    assert str(refused.value) == "[invalid bearer token, service account token has expired]"


def test_a_token_of_the_table_is_good_for_this_api_alone() -> None:
    authenticator = Authenticator({"secret": ADMIN}, audiences=("here", "also here"))
    assert authenticator.authenticate_token("secret").audiences == ("here", "also here")
    assert authenticator.authenticate_token("secret", ["there", "here"]).audiences == ("here",)
    with pytest.raises(InvalidCredentials):
        authenticator.authenticate_token("secret", ["there"])


def test_a_client_certificate_names_user_groups_and_credential() -> None:
    subject = certificate(("organizationName", "system:masters"), ("organizationName", "ops"), ("commonName", "jo"))
    user = Authenticator({}).authenticate(request(certificate=subject))
    assert user is not None
    assert (user.name, user.groups) == ("jo", ("system:masters", "ops", "system:authenticated"))
    credential = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential == (f"X509SHA256={sha256(CLIENTS).hexdigest()}",)


@pytest.mark.parametrize(
    "der",
    [
        pytest.param(encoded(uses=None), id="no use named"),
        pytest.param(encoded(uses=[x509.ExtendedKeyUsageOID.SERVER_AUTH]), id="a server's"),
        pytest.param(encoded(uses=[x509.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]), id="any use"),
        pytest.param(encoded(authority=True), id="an authority's"),
        pytest.param(encoded(uses=None, authority=True), id="an authority's without use"),
        pytest.param(b"DER", id="no certificate"),
    ],
)
def test_a_certificate_that_is_no_clients_is_a_bad_credential(der: bytes) -> None:
    subject = certificate(("commonName", "jo"))
    with pytest.raises(InvalidCredentials):
        Authenticator({}).authenticate(request(certificate=subject, der=der))
    user = Authenticator({"secret": ADMIN}).authenticate(request("Bearer secret", subject, der))
    assert user is not None
    assert user.name == "admin"


@pytest.mark.parametrize("authority", [None, False])
def test_a_certificate_may_leave_out_that_it_is_no_authoritys(authority: bool | None) -> None:
    uses = [x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.CLIENT_AUTH]
    subject = certificate(("commonName", "jo"))
    user = Authenticator({}).authenticate(request(certificate=subject, der=encoded(uses=uses, authority=authority)))
    assert user is not None
    assert user.name == "jo"


def test_a_client_certificate_comes_before_the_token() -> None:
    subject = certificate(("commonName", "jo"))
    user = Authenticator({"secret": ADMIN}).authenticate(request("Bearer secret", subject))
    assert user is not None
    assert user.name == "jo"


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param({}, id="no subject"),
        pytest.param(certificate(("organizationName", "system:masters")), id="groups only"),
        pytest.param(certificate(("commonName", "")), id="empty name"),
    ],
)
def test_a_certificate_without_a_common_name_names_nobody(subject: Mapping[str, Any]) -> None:
    assert certificate_user(subject, "digest") is None
