"""Which representation a client gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import NotAcceptable, UnsupportedMediaType
from mockkube.apiserver.http.responses.negotiation import (
    JSON,
    PLAIN_JSON,
    PROTOBUF,
    YAML,
    Representation,
    negotiate_error,
    negotiate_output,
    parse_accept,
    parse_content_type,
)

PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA = Representation(PROTOBUF, "PartialObjectMetadata", "v1")
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        pytest.param("", PLAIN_JSON, id="nothing said"),
        pytest.param("*/*", PLAIN_JSON, id="anything"),
        pytest.param(JSON, PLAIN_JSON, id="JSON"),
        pytest.param("application/json; charset=utf-8", PLAIN_JSON, id="with a parameter nobody asks for"),
        pytest.param(YAML, Representation(YAML), id="YAML"),
        pytest.param(f"{YAML};q=0.1, {JSON};q=0.9", PLAIN_JSON, id="the better liked"),
        pytest.param(f"{JSON};q=0.1, {YAML}", Representation(YAML), id="the better liked is not the first"),
        pytest.param("text/html, */*;q=0.1", PLAIN_JSON, id="the last resort"),
        pytest.param(TABLE, Representation(JSON, "Table", "v1"), id="a table"),
        pytest.param(f"{TABLE}beta1", Representation(JSON, "Table", "v1beta1"), id="an older table"),
        pytest.param(f"application/json;as=Poem;g=meta.k8s.io;v=v1,{JSON}", PLAIN_JSON, id="an unknown form, or JSON"),
    ],
)
def test_the_best_liked_that_can_be_had_is_chosen(accept: str, chosen: Representation) -> None:
    assert negotiate_output(accept) == chosen


@pytest.mark.parametrize(
    "accept", ["text/html", "application/*", "application/json;as=Poem;g=meta.k8s.io;v=v1", ";", ","]
)
def test_what_cannot_be_had_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiate_output(accept)


@pytest.mark.parametrize(
    ("accept", "protobuf", "chosen"),
    [
        pytest.param(f"{PROTOBUF},{JSON}", True, Representation(PROTOBUF), id="preferred"),
        pytest.param(f"{PROTOBUF};stream=watch,{JSON}", True, Representation(PROTOBUF), id="as a stream"),
        pytest.param(f"{PROTOBUF};stream=else,{JSON}", True, PLAIN_JSON, id="as another stream"),
        pytest.param(f"{PROTOBUF},{JSON}", False, PLAIN_JSON, id="no messages"),
        pytest.param(f"{PROTOBUF};{PARTIAL},{JSON}", False, METADATA, id="metadata of what has no messages"),
        pytest.param(f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{JSON}", True, PLAIN_JSON, id="a table, which has none"),
    ],
)
def test_protobuf_is_for_what_has_messages(accept: str, protobuf: bool, chosen: Representation) -> None:
    assert negotiate_output(accept, protobuf=protobuf) == chosen


def test_a_watch_is_never_yaml() -> None:
    with pytest.raises(NotAcceptable, match="stream=watch"):
        negotiate_output(YAML, watch=True)


@given(st.text(alphabet="application/jsonyml*;=,q.01 as", max_size=60))
def test_any_header_is_understood_or_refused(accept: str) -> None:
    assert all(clause.media for clause in parse_accept(accept))
    try:
        negotiate_output(accept)
    except NotAcceptable as error:
        assert error.status()["code"] == 406  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", PLAIN_JSON),
        (YAML, Representation(YAML)),
        (f"{JSON},{YAML}", PLAIN_JSON),
        ("text/html", PLAIN_JSON),
        (TABLE, PLAIN_JSON),
        (f"{PROTOBUF},{JSON}", Representation(PROTOBUF)),
        (f"{PROTOBUF};{PARTIAL},{JSON}", PLAIN_JSON),
    ],
)
def test_an_error_is_written_as_what_is_preferred_untransformed(accept: str, form: Representation) -> None:
    assert negotiate_error(accept) == form


@pytest.mark.parametrize(
    ("media", "form"), [("", JSON), (JSON, JSON), ("application/json; charset=utf-8", JSON), (YAML, YAML)]
)
def test_bodies_are_json_or_yaml(media: str, form: str) -> None:
    assert parse_content_type(media) == form


def test_a_body_in_another_format_is_not_supported() -> None:
    with pytest.raises(UnsupportedMediaType, match="unknown format"):
        parse_content_type("text/plain")
