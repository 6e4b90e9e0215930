"""Without TLS no page of another site can make a browser read from the server or write to it."""

import pytest
from aiohttp import HttpVersion10, web
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import ApiError
from mockkube.apiserver.http.filters.cross_site import CrossSiteGuard, check_cross_site, is_loopback


def refused(
    method: str = "GET", *, body: bool = False, allowed: tuple[str, ...] = (), **headers: str
) -> ApiError | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body:
        named["Content-Length"] = "2"
    payload = object() if body else EMPTY_PAYLOAD  # nobody reads it
    return check_cross_site(make_mocked_request(method, "/api/v1/secrets", headers=named, payload=payload), allowed)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:6443",
        "127.8.9.1:1",
        "localhost",
        "LocalHost:6443",
        "localhost.:80",
        "a.localhost:1",
        "[::1]:6443",
        "[::1]",
    ],
)
def test_names_of_loopback_are_answered(host: str) -> None:
    assert refused(Host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:6443", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost", ""),
        *(
            "2130706433",
            "0x7f.1",
            "[::1",
            "[::]",
            "0.0.0.0",
            "10.0.0.1",
            "evil@localhost",
            "localhost/",
            "127.0.0.1%00",
        ),
    ],
)
def test_other_names_are_refused_with_what_to_do(host: str) -> None:
    error = refused(Host=host)
    if host == "[::1":  # still only loopback
        assert error is None
        return
    assert error is not None
    assert error.code == 403
    assert "--allowed-hosts" in error.message


def test_a_name_that_is_configured_is_answered() -> None:
    assert refused(Host="dev.example:6443", allowed=("dev.example",)) is None


@given(st.text(st.characters(codec="latin-1"), max_size=30))
def test_a_name_is_loopback_only_if_it_says_so(name: str) -> None:
    assert not is_loopback(name) or name == "localhost" or name.endswith(".localhost") or name[:4] in ("127.", "::1")


def test_without_a_host_only_a_client_that_is_no_browser_is_answered() -> None:
    error = refused()
    assert error is not None
    assert (error.code, error.message) == (400, "missing required Host header")
    assert check_cross_site(make_mocked_request("GET", "/", version=HttpVersion10)) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost:3000",
        "https://localhost:6443",
        "http://127.0.0.1:6443",
        "file://",
    ],
)
def test_other_origins_are_refused(origin: str) -> None:
    error = refused("POST", Host="localhost:6443", Origin=origin)
    assert error is not None
    assert error.code == 403


@pytest.mark.parametrize(
    ("host", "origin"), [("localhost:6443", "http://LOCALHOST:6443"), ("localhost", "http://localhost:80")]
)
def test_the_servers_own_origin_is_answered(host: str, origin: str) -> None:
    assert refused("POST", Host=host, Origin=origin) is None


def test_an_origin_that_is_configured_is_answered() -> None:
    headers = {"Host": "localhost:1", "Origin": "http://dev.example:3000", "Sec_Fetch_Site": "cross-site"}
    assert refused("POST", allowed=("dev.example",), **headers) is None


@pytest.mark.parametrize(
    ("site", "code"), [("cross-site", 403), ("same-site", 403), ("same-origin", None), ("none", None)]
)
def test_what_a_browser_says_of_the_site_counts(site: str, code: int | None) -> None:
    error = refused(Host="localhost:1", Sec_Fetch_Site=site)
    assert (error and error.code) == code


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "media",
    [
        "",
        "text/plain",
        "Text/Plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
def test_a_body_of_a_type_that_any_page_may_send_is_refused(method: str, media: str) -> None:
    error = refused(method, body=True, Host="localhost:1", **({"Content_Type": media} if media else {}))
    assert error is not None
    assert error.code == 415


@pytest.mark.parametrize("media", ["application/json", "application/merge-patch+json", "application/yaml"])
def test_a_body_of_a_type_of_the_api_is_answered(media: str) -> None:
    assert refused("POST", body=True, Host="localhost:1", Content_Type=media) is None


async def test_a_refusal_is_a_status_and_nothing_is_asked_of_the_server() -> None:
    async def never(_request: web.BaseRequest) -> web.StreamResponse:
        raise AssertionError("a refused request gets nowhere")

    answer = await CrossSiteGuard(never)(make_mocked_request("GET", "/", headers={"Host": "evil.example"}))
    assert isinstance(answer, web.Response)
    assert answer.status == 403
    assert '"reason": "Forbidden"' in (answer.text or "")
