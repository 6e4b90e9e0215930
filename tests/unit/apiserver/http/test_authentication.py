"""Who is behind a request, and that a bad credential is never taken for somebody else."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from aiohttp.web import BaseRequest

from mockkube.apiserver.http.authentication import (
    ANONYMOUS,
    UNSECURED,
    Authenticated,
    Authenticator,
    InvalidCredentials,
    User,
    bearer_token,
    certificate_user,
)

ADMIN = User("admin", groups=("system:masters",))


class Peer:
    """The TLS side of a connection, as a transport shows it."""

    def __init__(self, certificate: Mapping[str, Any]) -> None:
        self._extra = {"peercert": certificate, "ssl_object": self}

    def get_extra_info(self, name: str) -> object:
        return self._extra[name]

    def getpeercert(self, binary_form: bool) -> bytes:
        assert binary_form
        return b"DER"


class Request:
    """The two things the authenticator reads of a request."""

    def __init__(self, authorization: str | None = None, certificate: Mapping[str, Any] | None = None) -> None:
        self.headers = {} if authorization is None else {"Authorization": authorization}
        self.transport = None if certificate is None else Peer(certificate)


def request(authorization: str | None = None, certificate: Mapping[str, Any] | None = None) -> BaseRequest:
    return cast("BaseRequest", Request(authorization, certificate))


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


@pytest.mark.parametrize("anonymous", [ANONYMOUS, UNSECURED, None])
def test_without_credentials_the_user_is_what_the_server_says(anonymous: User | None) -> None:
    assert Authenticator({"secret": ADMIN}, anonymous=anonymous).authenticate(request()) == anonymous


def test_an_unsecured_server_still_refuses_a_wrong_token() -> None:
    with pytest.raises(InvalidCredentials):
        Authenticator({}, anonymous=UNSECURED).authenticate(request("Bearer wrong"))


ACCOUNT = User("system:serviceaccount:ns:sa", uid="u", groups=("system:serviceaccounts",))


def issued_only(token: str, audiences: Sequence[str]) -> Authenticated | None:
    if token == "expired":
        raise InvalidCredentials("service account token has expired")
    return Authenticated(ACCOUNT, tuple(audiences)) if token == "issued" else None


def test_a_reviewer_is_asked_for_tokens_that_are_in_no_table() -> None:
    authenticator = Authenticator({"secret": ADMIN}).knowing(issued_only)
    user = authenticator.authenticate(request("Bearer issued"))
    assert user is not None
    assert user.name == "system:serviceaccount:ns:sa"
    assert user.groups == ("system:serviceaccounts", "system:authenticated")
    with pytest.raises(InvalidCredentials):
        authenticator.authenticate(request("Bearer never issued"))


def test_what_a_reviewer_objects_to_is_told_besides_that_the_token_is_bad() -> None:
    with pytest.raises(InvalidCredentials) as refused:
        Authenticator({}, reviewers=[issued_only]).review("expired")
    assert str(refused.value) == "[invalid bearer token, service account token has expired]"


def test_a_token_of_the_table_is_good_for_this_api_alone() -> None:
    authenticator = Authenticator({"secret": ADMIN}, audiences=("here", "also here"))
    assert authenticator.review("secret").audiences == ("here", "also here")
    assert authenticator.review("secret", ["there", "here"]).audiences == ("here",)
    with pytest.raises(InvalidCredentials):
        authenticator.review("secret", ["there"])


def test_a_client_certificate_names_user_groups_and_credential() -> None:
    subject = certificate(("organizationName", "system:masters"), ("organizationName", "ops"), ("commonName", "jo"))
    user = Authenticator({}).authenticate(request(certificate=subject))
    assert user is not None
    assert (user.name, user.groups) == ("jo", ("system:masters", "ops", "system:authenticated"))
    credential = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential == ("X509SHA256=bffd28c8eeb10a5e50cf17b58f477ea1803895ae69744e6eb53cbcc3bf427adb",)


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
