"""Flagz and statusz as 1.36 writes them, and as older releases did."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import orjson
import pytest
from aiohttp.web import BaseRequest, Response
from multidict import CIMultiDict, CIMultiDictProxy

from mockkube.api.errors import NotAcceptable
from mockkube.apiserver.http.handlers.zpages import Zpages, ZpagesComponent
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.identity.user import ANONYMOUS_USER
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.runtime.virtual_time import VirtualClock

STARTED = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for"
    " debugging purposes only.\n"
)
BOTH = frozenset({"ComponentFlagz", "ComponentStatusz"})
V133, V134, V135, V136 = (Version(1, minor) for minor in (33, 34, 35, 36))


class Asking:
    """A request with nothing but headers."""

    def __init__(self, accept: str) -> None:
        self.headers = CIMultiDictProxy(CIMultiDict({"Accept": accept}))


def pages(version: Version = V136, gates: frozenset[str] = BOTH) -> Zpages:
    clock = VirtualClock(STARTED + timedelta(hours=25, minutes=1, seconds=9))
    subject = ZpagesComponent("apiserver", Capabilities(version, gates), {"b": "2", "a": "1"}, STARTED)
    return Zpages(subject, clock, lambda: ["/", "/api/v1", "/livez/ping", "/livez", "/metrics", "/openapi/v2"])


def ask(page: str, accept: str = "", version: Version = V136) -> Response:
    exchange = RequestContext(cast("BaseRequest", Asking(accept)), ANONYMOUS_USER, {})
    response = pages(version).respond(exchange, page)
    assert isinstance(response, Response)
    return response


def shown(response: Response) -> Any:
    assert isinstance(response.body, bytes)
    return orjson.loads(response.body)


def test_flags_are_listed_by_name() -> None:
    response = ask("flagz")
    assert response.text == f"\napiserver flagz\n{WARNING}a=1\nb=2\n"
    assert response.content_type == "text/plain"


def test_status_tells_versions_uptime_and_where_else_to_look() -> None:
    assert ask("statusz", "*/*").text == (
        f"\napiserver statusz\n{WARNING}\n"
        "Started: Wed Mar  4 05:06:07 UTC 2026\n"
        "Up: 25 hr 01 min 09 sec\n"
        "Go version: \n"
        "Binary version: 1.36.4\n"
        "Emulation version: 1.36\n"
        "Paths: /livez /metrics\n"
    )


def test_the_first_release_lists_no_paths() -> None:
    assert str(ask("statusz", "text/plain", V133).text).endswith("Emulation version: 1.33\n")


def test_an_object_is_shown_to_who_asks_for_its_kind() -> None:
    assert shown(ask("flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz")) == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "apiserver"},
        "flags": {"a": "1", "b": "2"},
    }
    status = shown(ask("statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"))
    assert (status["startTime"], status["uptimeSeconds"]) == ("2026-03-04T05:06:07Z", 90069)
    assert status["paths"] == ["/livez", "/metrics"]


def test_the_alpha_version_is_warned_of_once_there_is_a_newer_one() -> None:
    accept = "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz"
    assert "This version of the statusz endpoint is deprecated" in ask("statusz", accept).headers["Warning"]
    assert "Warning" not in ask("statusz", accept, V135).headers


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        pytest.param("application/json", V136, id="json without a kind"),
        pytest.param("application/json;v=v1beta1;g=config.k8s.io", V136, id="no kind"),
        pytest.param("application/json;v=v1beta1;g=config.k8s.io;as=Flagz", V136, id="the other kind"),
        pytest.param("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", V135, id="a version to come"),
        pytest.param("application/xml", V136, id="an unknown format"),
    ],
)
def test_what_is_not_acceptable_is_refused(accept: str, version: Version) -> None:
    with pytest.raises(NotAcceptable, match="application/json, application/yaml, text/plain"):
        ask("statusz", accept, version)


def test_a_kind_nobody_knows_gives_way_to_a_wildcard() -> None:
    text = ask("statusz", "application/json;v=foo;g=config.k8s.io;as=Statusz,*/*").text
    assert str(text).startswith("\napiserver statusz\n")


def test_older_releases_have_text_alone_and_ask_for_the_header() -> None:
    response = ask("flagz", "", V134)
    assert (response.status, response.text) == (406, "media type not acceptable, must be: text/plain\n")
    assert ask("flagz", "text/plain", V134).status == 200


def test_a_page_is_there_when_its_gate_is_on() -> None:
    assert pages(gates=frozenset({"ComponentStatusz"})).enabled_pages == ("statusz",)
    assert pages(gates=frozenset()).enabled_pages == ()
