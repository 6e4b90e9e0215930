"""The forms an answer may have, and what is answered when there is none."""

import gzip
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import yaml

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest_asyncio.fixture(loop_scope="module")
async def secrets(api: "Api", lab: str) -> str:
    """The path of two secrets, a and b."""
    await api.create(f"{lab}/secrets", {"metadata": {"name": "a", "labels": {"k": "v"}}, "stringData": {"key": "1"}})
    await api.create(f"{lab}/secrets", {"metadata": {"name": "b"}})
    return f"{lab}/secrets"


async def test_json_is_the_default(api: "Api", secrets: str) -> None:
    for accept in ("", "*/*", "application/json", "text/html, */*;q=0.1"):
        answer = await api.ask("GET", f"{secrets}/a", accept=accept)
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json["metadata"]["name"] == "a"


@pytest.mark.parametrize("path", ["", "/a"], ids=["a list", "an object"])
async def test_yaml_says_the_same_as_json(api: "Api", secrets: str, path: str) -> None:
    answer = await api.ask("GET", f"{secrets}{path}", accept="application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(answer.body) == await api.get(f"{secrets}{path}")


async def test_a_table_has_a_row_for_each_object(api: "Api", secrets: str) -> None:
    whole = (await api.ask("GET", secrets, accept=TABLE)).json
    one = (await api.ask("GET", f"{secrets}/a", accept=TABLE)).json
    assert (whole["kind"], whole["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in whole["columnDefinitions"]] == ["Name", "Type", "Data", "Age"]
    assert [row["cells"][:3] for row in whole["rows"]] == [["a", "Opaque", 1], ["b", "Opaque", 0]]
    assert [row["cells"][:3] for row in one["rows"]] == [["a", "Opaque", 1]]


@pytest.mark.parametrize(
    ("include", "kind"),
    [
        pytest.param("", "PartialObjectMetadata", id="metadata by default"),
        pytest.param("Metadata", "PartialObjectMetadata", id="metadata"),
        pytest.param("Object", "Secret", id="the object"),
        pytest.param("None", None, id="nothing"),
    ],
)
async def test_rows_carry_what_is_asked_for(api: "Api", secrets: str, include: str, kind: str | None) -> None:
    rows = (await api.ask("GET", f"{secrets}?includeObject={include}", accept=TABLE)).json["rows"]
    assert [row["object"] and row["object"]["kind"] for row in rows] == [kind, kind]


async def test_metadata_alone_leaves_the_rest_out(api: "Api", secrets: str) -> None:
    full = await api.get(f"{secrets}/a")
    one = (await api.ask("GET", f"{secrets}/a", accept=METADATA)).json
    whole = (await api.ask("GET", secrets, accept=METADATA_LIST)).json
    expected = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": full["metadata"]}
    assert one == expected
    assert whole["kind"] == "PartialObjectMetadataList"
    assert whole["items"][0] == expected


async def test_the_first_form_that_can_be_had_is_taken(api: "Api", secrets: str) -> None:
    kubectl = f"{TABLE},application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json"
    unknown = "application/json;as=Poem;g=meta.k8s.io;v=v1,application/json"
    preferred = f"application/json;q=0.1,{TABLE};q=0.9"
    kinds = [(await api.ask("GET", secrets, accept=accept)).json["kind"] for accept in (kubectl, unknown, preferred)]
    assert kinds == ["Table", "SecretList", "Table"]


@pytest.mark.parametrize(
    "accept",
    [
        pytest.param("text/html", id="html"),
        pytest.param("application/xml;q=0.9, text/plain", id="none of several"),
        pytest.param("application/*", id="a pattern of subtypes"),
        pytest.param("application/json;as=Poem;g=meta.k8s.io;v=v1", id="a form nobody knows"),
        pytest.param("application/json;as=Table;g=other;v=v1", id="a form of another group"),
        pytest.param(METADATA, id="one object's form for a list"),
    ],
)
async def test_a_form_that_is_not_there_is_not_acceptable(api: "Api", secrets: str, accept: str) -> None:
    answer = await api.ask("GET", secrets, accept=accept)
    assert (answer.status, answer.json["reason"]) == (406, "NotAcceptable")


async def test_nothing_is_created_whose_answer_would_not_be_acceptable(api: "Api", secrets: str) -> None:
    answer = await api.ask("POST", secrets, {"metadata": {"name": "new"}}, accept="text/html")
    assert answer.status == 406
    assert (await api.ask("GET", f"{secrets}/new")).status == 404


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_a_body_in_another_format_is_not_supported(api: "Api", secrets: str, media: str) -> None:
    answer = await api.ask("POST", secrets, {"metadata": {"name": "new"}}, media=media)
    assert (answer.status, answer.json["reason"]) == (415, "UnsupportedMediaType")


async def test_a_patch_must_say_its_type(api: "Api", secrets: str) -> None:
    answer = await api.ask("PATCH", f"{secrets}/a", {}, media="application/json")
    assert (answer.status, answer.json["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("PUT", "", id="replace a collection"),
        pytest.param("PATCH", "", id="patch a collection"),
        pytest.param("POST", "/a", id="create below a name"),
        pytest.param("OPTIONS", "", id="a method without a verb"),
        pytest.param("TRACE", "/a", id="another"),
    ],
)
async def test_a_verb_that_is_not_there_is_not_allowed(api: "Api", secrets: str, method: str, path: str) -> None:
    answer = await api.ask(method, f"{secrets}{path}")
    assert (answer.status, answer.json["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/nothings", id="a resource"),
        pytest.param("/apis/apps/v1beta9/deployments", id="a version"),
        pytest.param("/apis/example.com/v1/things", id="a group"),
        pytest.param("/api/v1/namespaces/default/nodes", id="a cluster's resource in a namespace"),
        pytest.param("/api/v1/namespaces/default/pods/a/nothing", id="a subresource"),
        pytest.param("/nothing", id="a plain path"),
        pytest.param("/apis/example.com", id="a group's discovery"),
    ],
)
async def test_a_path_that_is_not_there_is_not_found(api: "Api", path: str) -> None:
    answer = await api.ask("GET", path)
    assert answer.status == 404


async def test_errors_are_a_status_in_the_form_that_was_asked_for(api: "Api", secrets: str) -> None:
    plain = (await api.ask("GET", f"{secrets}/none")).json
    as_yaml = await api.ask("GET", f"{secrets}/none", accept="application/yaml")
    as_table = (await api.ask("GET", f"{secrets}/none", accept=TABLE)).json
    assert plain == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'secrets "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "kind": "secrets"},
        "code": 404,
    }
    assert yaml.safe_load(as_yaml.body) == plain
    assert as_table == plain


async def test_pretty_answers_are_indented(api: "Api", secrets: str) -> None:
    asked = (await api.ask("GET", f"{secrets}/a?pretty=true")).body
    curl = (await api.ask("GET", f"{secrets}/a", headers={"User-Agent": "curl/8"})).body
    plain = (await api.ask("GET", f"{secrets}/a?pretty=false", headers={"User-Agent": "curl/8"})).body
    assert asked == curl
    assert asked.startswith(b'{\n  "kind": "Secret",\n')
    assert plain.startswith(b'{"kind":"Secret",')


async def test_large_answers_are_compressed_for_those_who_can_read_it(api: "Api", lab: str) -> None:
    data = {"key": "x" * 200_000}
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "large"}, "data": data})
    answer = await api.ask("GET", f"{lab}/configmaps/large", headers={"Accept-Encoding": "gzip"})
    plain = await api.ask("GET", f"{lab}/configmaps/large", headers={"Accept-Encoding": "identity"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.body) == plain.body
    assert "Content-Encoding" not in plain.headers


async def test_small_answers_are_not(api: "Api", secrets: str) -> None:
    answer = await api.ask("GET", f"{secrets}/a", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer.headers


async def test_no_object_is_answered_without_its_body(api: "Api", secrets: str) -> None:
    assert (await api.ask("HEAD", f"{secrets}/a")).status == 405


async def test_answers_are_not_to_be_kept(api: "Api", secrets: str) -> None:
    assert (await api.ask("GET", f"{secrets}/a")).headers["Cache-Control"] == "no-cache, private"


async def test_a_deprecated_kind_warns(api: "Api", lab: str) -> None:
    answer = await api.ask("GET", f"{lab}/endpoints")
    assert answer.warnings == ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


async def test_every_answer_tells_the_name_of_its_request(api: "Api", lab: str) -> None:
    named = await api.ask("GET", f"{lab}/configmaps", headers={"Audit-Id": "mine"})
    assert named.headers["Audit-Id"] == "mine"
    first, second = [(await api.ask("GET", "/nowhere")).headers["Audit-Id"] for _ in range(2)]
    assert first != second


async def test_what_only_answers_is_shown_in_no_table(api: "Api", lab: str) -> None:
    path, table = "/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert (await api.ask("POST", path, {}, headers={"Accept": table})).status == 406
    answer = await api.ask("POST", path, {}, headers={"Accept": f"{table},application/json"})
    assert (answer.status, answer.json["kind"]) == (201, "SelfSubjectReview")
