"""Whatever a client sends, it gets a clear answer or a clean close, and the server goes on serving."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import pytest
import pytest_asyncio
from yarl import URL

if TYPE_CHECKING:
    from tests.contract.api.conftest import Answer, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
YAML: Final = "application/yaml"
PATCHES: Final = ("json", "merge", "strategic-merge")
BODY_BYTES_MAX: Final = 3 << 20
CLOSE_SECONDS_MAX: Final = 5.0
DIGITS: Final = "9" * 5000


def nested(opening: str, depth: int, closing: str) -> str:
    """A configmap with an unknown field that is nested so deep."""
    return f'{{"metadata": {{"name": "deep"}}, "surplus": {opening * depth}1{closing * depth}}}'


def refused(answer: "Answer") -> None:
    """The answer is a Status that blames the client."""
    status = answer.json
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)
    assert 400 <= answer.status < 500, status
    assert status["message"]


def done_or_refused(answer: "Answer") -> None:
    """The answer is a success, or blames the client."""
    if answer.status not in (200, 201):
        refused(answer)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def _serving(api: "Api") -> AsyncIterator[None]:
    """After each test the server answers."""
    yield
    assert (await api.ask("GET", "/readyz")).body == b"ok"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{{{", id="braces"),
        pytest.param(b'{"metadata": {"name": "a"}', id="the beginning of an object"),
        pytest.param(b'{"metadata": {"name": "a"}} more', id="more than an object"),
        pytest.param(b'{"metadata": {"name": "a\x00b"}}', id="a NUL byte"),
        pytest.param(b'{"metadata": {"name": "\xff\xfe"}}', id="bytes that are no UTF-8"),
        pytest.param(b'{"metadata": {"name": "\\ud800"}}', id="half a character"),
        pytest.param('{"metadata": {"name": "a"}}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b'\xef\xbb\xbf{"metadata": {"name": "a"}}', id="a byte order mark"),
        pytest.param(b'{"metadata": {"generation": NaN}}', id="not a number"),
        pytest.param(b'{"metadata": {"generation": %s}}' % DIGITS.encode(), id="a number of 5000 digits"),
        pytest.param(b'{"metadata": {"generation": 1e999}}', id="infinitely many"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'"text"', id="a text"),
        pytest.param(b"7", id="a number"),
        pytest.param(b"true", id="a truth"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"kind": [], "apiVersion": {}}', id="a kind that is no text"),
        pytest.param(b'{"kind": "Pod", "apiVersion": "v1"}', id="another kind"),
        pytest.param(b'{"kind": "Thing", "apiVersion": "example.com/v1"}', id="a kind nobody knows"),
        pytest.param(b'{"kind": "List", "apiVersion": "v1", "items": []}', id="a list"),
        pytest.param(b'{"metadata": []}', id="metadata that are an array"),
        pytest.param(b'{"metadata": null}', id="no metadata"),
        pytest.param(b'{"metadata": {"name": "a/b"}}', id="a name with a slash"),
        pytest.param(b'{"metadata": {"name": ".."}}', id="a name that is a path"),
        pytest.param(b'{"metadata": {"name": "a\\u0000b"}}', id="a name with an escaped NUL"),
        pytest.param(b'{"metadata": {"name": "a", "labels": {"k": 1}}}', id="a label that is a number"),
        pytest.param(b'{"metadata": {"name": "a", "ownerReferences": [null]}}', id="an owner that is null"),
        pytest.param(b'{"metadata": {"name": "a", "finalizers": [null]}}', id="a finalizer that is null"),
        pytest.param(b'{"metadata": {"name": "a", "creationTimestamp": "0000-99-99T99:99:99Z"}}', id="no time"),
    ],
)
async def test_a_body_that_is_no_object_is_refused(api: "Api", lab: str, body: bytes) -> None:
    refused(await api.ask("POST", f"{lab}/configmaps", body))
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    refused(await api.ask("PUT", f"{lab}/configmaps/a", body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"a: b: c", id="two colons"),
        pytest.param(b"\t- a", id="a tab"),
        pytest.param(b"{a: [}", id="brackets that do not match"),
        pytest.param(b'metadata: {name: "a\x00"}', id="a NUL byte"),
        pytest.param(b"metadata: {name: \xff\xfe}", id="bytes that are no UTF-8"),
        pytest.param(b'metadata: {name: "\\ud800"}', id="half a character"),
        pytest.param(b"metadata: *nobody", id="an alias of nothing"),
        pytest.param(b"metadata: &me {labels: *me}", id="an alias of itself"),
        pytest.param(b"surplus: &me [*me]", id="a list that contains itself"),
        pytest.param(b"[a, b]: c", id="a list as a key"),
        pytest.param(b"{a: b}: c", id="a mapping as a key"),
        pytest.param(b"!!python/object/apply:os.getcwd []", id="a call"),
        pytest.param(b"metadata: !thing {name: a}", id="a tag of its own"),
        pytest.param(b"data: {a: !!int many}", id="a number in words"),
        pytest.param(f"metadata: {{generation: {DIGITS}}}".encode(), id="a number of 5000 digits"),
        pytest.param(b"data: !!set {a, b}", id="a set"),
        pytest.param(b"%YAML 3.0\n---\na: b", id="YAML of the future"),
        pytest.param(b"text", id="a text"),
        pytest.param(b"", id="nothing"),
        pytest.param(
            b"data: !!map [a]",
            id="a list that claims to be a mapping",
        ),
    ],
)
async def test_yaml_that_is_no_object_is_refused(api: "Api", lab: str, body: bytes) -> None:
    refused(await api.ask("POST", f"{lab}/configmaps", body, media=YAML))


async def test_of_several_yaml_documents_the_first_is_taken(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", b"metadata: {name: a}\n---\n: : {{{", media=YAML)
    assert (answer.status, answer.json["metadata"]["name"]) == (201, "a")


DEPTHS: Final = (200, 700, 5_000, 200_000)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"])
async def test_deep_json_is_read_or_refused(api: "Api", lab: str, depth: int, opening: str, closing: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", nested(opening, depth, closing))
    done_or_refused(answer)
    refused(await api.ask("POST", f"{lab}/configmaps", opening * depth))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", PATCHES)
async def test_a_deep_patch_is_applied_or_refused(api: "Api", lab: str, depth: int, kind: str) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    deep = '{"a":' * depth + "1" + "}" * depth
    text = f'[{{"op":"add","path":"/surplus","value":{deep}}}]' if kind == "json" else f'{{"surplus":{deep}}}'
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", text, media=f"application/{kind}-patch+json")
    done_or_refused(answer)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_deep_options_of_a_deletion_are_read_or_refused(api: "Api", lab: str, depth: int) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    answer = await api.ask("DELETE", f"{lab}/configmaps/a", nested("[", depth, "]"))
    done_or_refused(answer)


@pytest.mark.parametrize("depth", [*DEPTHS, 400])
async def test_deep_values_of_any_form_are_kept_or_refused(api: "Api", lab: str, depth: int) -> None:
    revisions = lab.replace("/api/v1/", "/apis/apps/v1/") + "/controllerrevisions"
    text = f'{{"metadata":{{"name":"a"}},"revision":1,"data":{{"a":{"[" * depth}{"]" * depth}}}}}'
    answer = await api.ask("POST", revisions, text)
    done_or_refused(answer)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_type_that_contains_itself_is_read_or_refused_however_deep(api: "Api", depth: int) -> None:
    schema = '{"type":"object","properties":{"a":' * depth + '{"type":"string"}' + "}}" * depth
    text = (
        '{"metadata":{"name":"deeps.example.com"},"spec":{"group":"example.com","scope":"Namespaced",'
        '"names":{"plural":"deeps","kind":"Deep"},"versions":[{"name":"v1","served":true,"storage":true,'
        f'"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}'
    )
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = await api.ask("POST", f"{path}?dryRun=All", text)
    done_or_refused(answer)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")], ids=["flow", "flow mappings", "block"]
)
async def test_deep_yaml_is_read_or_refused(api: "Api", lab: str, depth: int, opening: str, closing: str) -> None:
    text = f"surplus:\n  {opening * depth}x{closing * depth}\n"
    refused(await api.ask("POST", f"{lab}/configmaps", text, media=YAML))


async def test_aliases_of_aliases_are_refused_before_they_are_expanded(api: "Api", lab: str) -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 6)]  # nine more lines would be fatal
    answer = await api.ask("POST", f"{lab}/configmaps", "metadata: {name: a}\n" + "\n".join(lines), media=YAML)
    refused(answer)


@pytest.mark.parametrize("media", ["application/json", YAML])
async def test_a_body_beyond_the_limit_is_refused(api: "Api", lab: str, media: str) -> None:
    text = b'{"metadata": {"name": "' + b"x" * BODY_BYTES_MAX + b'"}}'
    answer = await api.ask("POST", f"{lab}/configmaps", text, media=media)
    assert (answer.status, answer.json["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_body_of_unknown_length_is_refused_once_it_is_beyond_the_limit(api: "Api", lab: str) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield b" " * 65536
            sent += 65536

    url = URL(f"{api.url}{lab}/configmaps", encoded=True)
    async with asyncio.timeout(CLOSE_SECONDS_MAX):
        async with api.session.post(url, data=endless()) as response:
            assert response.status == 413
    assert sent < 10 * BODY_BYTES_MAX


async def test_a_compressed_body_is_not_expanded_beyond_the_limit(api: "Api", lab: str) -> None:
    body = gzip.compress(b" " * (100 << 20))
    answer = await api.ask("POST", f"{lab}/configmaps", body, headers={"Content-Encoding": "gzip"})
    refused(answer)


async def test_a_body_is_taken_as_it_comes_whatever_its_encoding_is_said_to_be(api: "Api", lab: str) -> None:
    body = b'{"metadata": {"name": "a"}}'
    answer = await api.ask("POST", f"{lab}/configmaps", body, headers={"Content-Encoding": "gzip"})
    assert answer.status == 201


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("%2e%2e%2fsecrets", id="encoded dots and slash"),
        pytest.param("%2e%2e/secrets", id="encoded dots"),
        pytest.param("..%2f..%2f..%2fetc%2fpasswd", id="out of the root"),
        pytest.param("..%5c..%5c", id="backslashes"),
        pytest.param("a%00b", id="a NUL"),
        pytest.param("a%0d%0aX-Injected:%20yes", id="a line break"),
        pytest.param("%ff%fe", id="no UTF-8"),
        pytest.param("a%zz", id="no escape"),
        pytest.param("a" * 60_000, id="60,000 letters"),
        pytest.param("a/b/c/d/e/f", id="below a subresource"),
        pytest.param("%F0%9F%92%A9", id="no letter at all"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_a_name_in_the_path_is_a_name_and_nothing_else(api: "Api", lab: str, method: str, path: str) -> None:
    body = None if method in ("GET", "DELETE") else {"metadata": {"name": "a"}}
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = await api.ask(method, f"{lab}/configmaps/{path}", body, media=media)
    refused(answer)
    assert "X-Injected" not in answer.headers


TOKENS: Final = {
    "no JSON": "abc",
    "an array": "W10",
    "no start": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0",
    "a start out of the root": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvLi4vYSJ9",
    "a revision in words": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6IngiLCJzdGFydCI6ImEifQ",
    "a revision that is an array": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6W10sInN0YXJ0IjoiYSJ9",
    "a revision that is null": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6bnVsbCwic3RhcnQiOiJhIn0",
}


@pytest.mark.parametrize(
    "token",
    [pytest.param(token, id=name) for name, token in TOKENS.items()],
)
async def test_a_page_nobody_gave_out_is_refused(api: "Api", lab: str, token: str) -> None:
    refused(await api.ask("GET", f"{lab}/configmaps?continue={token}"))


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("limit=many", id="a limit in words"),
        pytest.param("limit=1e3", id="a limit with an exponent"),
        pytest.param("limit=99999999999999999999", id="a limit beyond 64 bits"),
        pytest.param(f"limit={DIGITS}", id="a limit of 5000 digits"),
        pytest.param("limit=%D9%A1", id="a digit of another script"),
        pytest.param("limit=%C2%B2", id="a superscript"),
        pytest.param(f"timeoutSeconds={DIGITS}", id="a time of 5000 digits"),
        pytest.param("resourceVersion=-1", id="a version below nothing"),
        pytest.param("resourceVersion=1.5", id="half a version"),
        pytest.param("resourceVersion=%00", id="a NUL"),
        pytest.param(f"resourceVersion={DIGITS}", id="a version of 5000 digits"),
        pytest.param("labelSelector=%00", id="a label of NUL"),
        pytest.param(f"labelSelector={'(' * 5000}", id="brackets"),
        pytest.param(f"labelSelector={'a,' * 20_000}", id="a selector without an end"),
        pytest.param(f"labelSelector=a>{DIGITS}", id="greater than 5000 digits"),
        pytest.param("labelSelector=%ff", id="no UTF-8"),
        pytest.param("fieldSelector=metadata.name%3D%5c", id="half an escape"),
        pytest.param("fieldSelector=a.b.c%3Dd", id="no field"),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused(api: "Api", lab: str, query: str) -> None:
    refused(await api.ask("GET", f"{lab}/configmaps?{query}"))
    refused(await api.ask("DELETE", f"{lab}/configmaps?{query}"))


@pytest.mark.parametrize(
    "query",
    ["limit=-1", "pretty=perhaps", "%zz=1", "=", "&&&", "a=1&" * 5000, "limit=1&limit=2", "%00=%00", "includeObject=x"],
)
async def test_a_query_that_says_nothing_is_passed_over(api: "Api", lab: str, query: str) -> None:
    assert (await api.ask("GET", f"{lab}/configmaps?{query}")).status == 200


@pytest.mark.parametrize(
    "seconds",
    [-1, -(1 << 63), *(pytest.param(many) for many in (999_999_999_999, (1 << 63) - 1))],
)
async def test_a_grace_of_any_length_is_granted_or_refused(api: "Api", lab: str, seconds: int) -> None:
    spec = {"containers": [{"name": "main", "image": "image:1"}], "nodeName": "n1"}
    for name in ("a", "b"):
        await api.create(f"{lab}/pods", {"metadata": {"name": name}, "spec": spec})
    by_query = await api.ask("DELETE", f"{lab}/pods/a?gracePeriodSeconds={seconds}")
    by_body = await api.ask("DELETE", f"{lab}/pods/b", {"gracePeriodSeconds": seconds})
    for answer in (by_query, by_body):
        done_or_refused(answer)


@pytest_asyncio.fixture(loop_scope="module")
async def parts(api: "Api", lab: str) -> str:
    """The path of a namespace with a pod and a replication controller, both named a."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    spec = {"selector": {"a": "b"}, "template": template}
    await api.create(f"{lab}/replicationcontrollers", {"metadata": {"name": "a"}, "spec": spec})
    await api.create(f"{lab}/pods", {"metadata": {"name": "a"}, "spec": template["spec"]})
    return lab


SCALE: Final = "/replicationcontrollers/a/scale"


@pytest.mark.parametrize("body", [b"{", b"{{}}", b"\xff", b"[", b'{"metadata": {"name": "a"'])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/pods/a/binding", id="binding"),
        pytest.param("POST", "/pods/a/eviction", id="eviction"),
        pytest.param("POST", "/serviceaccounts/default/token", id="token"),
        pytest.param("PUT", SCALE, id="scale"),
        pytest.param("PUT", "/pods/a/status", id="status"),
        pytest.param("PUT", "/pods/a/ephemeralcontainers", id="ephemeral containers"),
        pytest.param("PUT", "/pods/a/resize", id="resize"),
    ],
)
async def test_a_part_of_an_object_is_not_read_from_nonsense(
    api: "Api", parts: str, method: str, path: str, body: bytes
) -> None:
    refused(await api.ask(method, parts + path, body))


@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b'{"spec": 5}', b'{"metadata": []}', b'{"target": 7}'])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/pods/a/binding", id="binding"),
        pytest.param("POST", "/pods/a/eviction", id="eviction"),
        pytest.param("PUT", SCALE, id="scale"),
        pytest.param("PUT", "/pods/a/status", id="status"),
    ],
)
async def test_a_part_of_an_object_is_not_another_thing(
    api: "Api", parts: str, method: str, path: str, body: bytes
) -> None:
    refused(await api.ask(method, parts + path, body))


@pytest.mark.parametrize("body", [b"5", b'"x"'])
@pytest.mark.parametrize("kind", PATCHES)
async def test_a_scale_takes_no_patch_that_is_none(api: "Api", parts: str, kind: str, body: bytes) -> None:
    refused(await api.ask("PATCH", parts + SCALE, body, media=f"application/{kind}-patch+json"))


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("x", id="words"),
        pytest.param("-5", id="below nothing"),
        pytest.param("1.5", id="a half"),
        pytest.param("\u0661", id="a digit of another script"),
        pytest.param("99999999999999999999", id="beyond 64 bits"),
        pytest.param("\u00b2", id="a superscript"),
        pytest.param(DIGITS, id="5000 digits"),
    ],
)
async def test_a_version_that_is_none_changes_nothing(api: "Api", lab: str, version: str) -> None:
    before = await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    changed = {"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": "v"}}
    replaced = await api.ask("PUT", f"{lab}/configmaps/a", changed)
    patched = await api.ask("PATCH", f"{lab}/configmaps/a", changed, media="application/merge-patch+json")
    deleted = await api.ask("DELETE", f"{lab}/configmaps/a", {"preconditions": {"resourceVersion": version}})
    for answer in (replaced, patched, deleted):
        assert answer.status >= 400  # 500 for what is no number, as upstream
    assert await api.get(f"{lab}/configmaps/a") == before


PATCH_BODIES: Final = [
    *("", "{", "[]", "null", "5", '"x"', "[5]", "[null]", "[[]]", '{"metadata":5}', '{"metadata":null}', '{"kind":7}'),
    *('[{"op":"add"}]', '[{"op":"add","path":5,"value":1}]', '[{"op":"remove","path":""}]'),
    *('[{"op":"replace","path":"","value":5}]', '[{"op":"add","path":"/metadata/finalizers/99999999999","value":"x"}]'),
    *(
        '[{"op":"copy","from":"/metadata","path":"/metadata/labels"}]',
        '[{"op":"move","from":"/metadata","path":"/data"}]',
    ),
    *(
        '[{"op":"remove","path":"/metadata"}]',
        '[{"op":"remove","path":"/metadata/uid"}]',
        '{"$patch":"x"}',
        '{"$patch":5}',
    ),
    *('{"$retainKeys":5}', '{"$setElementOrder/x":[1]}', '{"metadata":{"$deleteFromPrimitiveList/finalizers":5}}'),
    *(
        '{"metadata":{"ownerReferences":[{"uid":{}}]}}',
        '{"metadata":{"finalizers":[[]]}}',
        '{"metadata":{"name":null}}',
    ),
]


@pytest.mark.parametrize("text", PATCH_BODIES)
@pytest.mark.parametrize("kind", PATCHES)
async def test_a_patch_that_makes_no_sense_tells_why(api: "Api", lab: str, kind: str, text: str) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", text, media=f"application/{kind}-patch+json")
    assert answer.status == 200 or answer.message


APPLY = "application/apply-patch+yaml"


@pytest.mark.parametrize("metadata", ["a text", [], ["a"], 1, True, 0.5])
async def test_an_apply_whose_metadata_are_no_object_is_refused(api: "Api", lab: str, metadata: object) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    for _ in range(2):
        answer = await api.ask("PATCH", f"{lab}/configmaps/odd?fieldManager=m", body, media=APPLY)
        assert answer.status == 400
        assert ".metadata: expected map, got" in answer.message
        await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "odd"}})  # the second meets one that is there


async def test_an_apply_without_metadata_applies_to_the_object_of_the_path(api: "Api", lab: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None, "data": {"a": "b"}}
    done_or_refused(await api.ask("PATCH", f"{lab}/configmaps/none?fieldManager=m", body, media=APPLY))


@pytest.mark.parametrize("fields", [True, 0, 1.5, "f:data", [], [{}], {"f:data": True}, {"f:data": {"f:a": 1}}])
async def test_managed_fields_that_cannot_be_read_are_forgotten(api: "Api", lab: str, fields: object) -> None:
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    created = await api.create(
        f"{lab}/configmaps", {"metadata": {"name": "c", "managedFields": [entry]}, "data": {"a": ""}}
    )
    assert [one["fieldsV1"] for one in created["metadata"]["managedFields"]] == [{"f:data": {".": {}, "f:a": {}}}]


@pytest.mark.parametrize(
    "number", [1 << 64, -(1 << 63) - 1, 10**30, -(10**400)], ids=["2^64", "-2^63-1", "10^30", "-10^400"]
)
@pytest.mark.parametrize("media", ["application/json", YAML, APPLY])
async def test_an_integer_of_more_than_64_bits_is_refused_in_gos_words(
    api: "Api", lab: str, media: str, number: int
) -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": number}]}}
    path = f"{lab}/services/s?fieldManager=m" if media == APPLY else f"{lab}/services"
    answer = await api.ask("PATCH" if media == APPLY else "POST", path, body, media=media)
    assert 400 <= answer.status < 500 or answer.message.startswith("failed to create typed patch object")
    assert (
        "cannot unmarshal" in answer.message
        or "json parse error" in answer.message
        or "expected numeric" in answer.message
    )


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
async def test_a_number_that_json_cannot_hold_is_refused(api: "Api", lab: str, number: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", f"metadata: {{name: n, generation: {number}}}", media=YAML)
    refused(answer)
    assert "json: unsupported value" in answer.message


async def test_a_component_without_a_name_is_refused(api: "Api") -> None:
    answer = await api.ask("POST", "/apis/control.mockkube.dev/v1alpha1/components", {"metadata": {"name": None}})
    refused(answer)
    assert "name or generateName is required" in answer.message


@pytest.mark.parametrize("field", ["name", "generateName"])
async def test_a_name_that_no_store_can_hold_is_refused(api: "Api", field: str) -> None:
    body = {"metadata": {field: "a\x00b"}, "rules": []}
    answer = await api.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", body)
    refused(answer)
    assert "may not contain" in answer.message
    assert (await api.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%00b")).status == 404
