"""Names of proxied objects: alone, with a port, with a scheme and a port."""

import pytest

from mockkube.api.errors import BadRequest
from mockkube.apiserver.http.handlers.pod_proxy import split_scheme_name_port


@pytest.mark.parametrize(
    ("text", "split"),
    [
        pytest.param("web", ("", "web", ""), id="a name"),
        pytest.param("web:80", ("", "web", "80"), id="a port"),
        pytest.param("web:http", ("", "web", "http"), id="a named port"),
        pytest.param("http:web:80", ("http", "web", "80"), id="a scheme"),
        pytest.param("https:web:", ("https", "web", ""), id="a scheme and no port"),
        pytest.param(":web:80", ("", "web", "80"), id="an empty scheme"),
    ],
)
def test_a_name_is_found_in(text: str, split: tuple[str, str, str]) -> None:
    assert split_scheme_name_port(text, "service") == split


@pytest.mark.parametrize("text", ["", ":80", "ftp:web:80", "http::80", "a:b:c:d"])
def test_a_name_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=rf'invalid service request "{text}"'):
        split_scheme_name_port(text, "service")
