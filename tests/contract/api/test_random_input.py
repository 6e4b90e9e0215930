"""Random requests, some of them nearly valid: whatever they ask, the answer does not speak of a bug."""

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockkube.api.catalogue import KINDS, KindInfo, is_stable_version
from mockkube.api.schema import Schema, Shape, TypeNode
from mockkube.features.versions import DEFAULT

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api, Minimal

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
EXAMPLES: Final = 150
DEPTH_MAX: Final = 8
SCHEMA: Final = Schema(DEFAULT)
SETTINGS: Final = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

TEXTS: Final = (
    *(
        "",
        "a",
        "A",
        "a.b",
        "a/b",
        "x" * 300,
        "\x00",
        "\n",
        "é",
        "\U0001f4a9",
        "\u2028",
        "*",
        "*.example.com",
        "$(A)",
        "{{",
    ),
    *("::1", "1.2.3.4", "10.0.0.0/8", "999.1.1.1", "https://x/y?z#f", "..", "../x", "0", "-1", "100%", "101%", "-5%"),
    *(
        "1Gi",
        "1e3",
        "0.5",
        "true",
        "null",
        "Always",
        "TCP",
        "In",
        "Exists",
        "NoExecute",
        "cpu",
        "requests.cpu",
        "default",
    ),
    *("self.x", "has(object.x)", "1 +", "* * * * *", "@every 1s", "UTC", "ClusterIP", "None", "kubernetes.io/hostname"),
)
NUMBERS: Final = (0, 1, -1, 2, 80, 65535, 65536, 1 << 31, -(1 << 31), (1 << 31) - 1, (1 << 63) - 1, -(1 << 63), 1 << 64)
QUANTITIES: Final = ("0", "1", "-1", "1Gi", "1.5", "100m", "1e3", "1n", "1E", "1e100", "0.0001", 5, 0.5, -3)
TIMES: Final = (
    None,
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00+14:00",
)
BYTES: Final = ("", "YQ==", "YWI", "!", "YQ==\n")

texts = st.sampled_from(TEXTS)
numbers = st.sampled_from(NUMBERS)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
_SCALARS: Final[dict[Shape, st.SearchStrategy[Any]]] = {
    Shape.STRING: texts,
    Shape.BYTES: st.sampled_from(BYTES),
    Shape.BOOL: st.booleans(),
    Shape.INT32: st.sampled_from([number for number in NUMBERS if abs(number) < 1 << 31]),
    Shape.INT64: st.sampled_from([number for number in NUMBERS if abs(number) < 1 << 63]),
    Shape.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Shape.QUANTITY: st.sampled_from(QUANTITIES),
    Shape.INT_OR_STRING: st.sampled_from((0, 80, 65536, "http", "50%", "-5%", "x%", "")),
    Shape.TIME: st.sampled_from(TIMES),
    Shape.MICRO_TIME: st.sampled_from(TIMES),
    Shape.ANY: json_values,
}


@st.composite
def values_of(draw: st.DrawFn, node: TypeNode, depth: int = 0) -> Any:
    """A value of a type: odd, but of the right form, most of the time."""
    if draw(st.integers(0, 49)) == 49:
        return draw(json_values)
    match node.shape:
        case Shape.STRUCT:
            names = [name for name in node.fields if name not in ("kind", "apiVersion", "managedFields")]
            few = draw(st.lists(st.sampled_from(names), max_size=4, unique=True)) if depth < DEPTH_MAX and names else []
            return {name: draw(values_of(node.fields[name].node, depth + 1)) for name in few}
        case Shape.LIST:
            assert node.item is not None
            return draw(st.lists(values_of(node.item, depth + 1), max_size=2))
        case Shape.MAP:
            assert node.item is not None
            return draw(st.dictionaries(texts, values_of(node.item, depth + 1), max_size=2))
        case scalar:
            return draw(_SCALARS[scalar])


def laid_over(valid: Any, odd: Any) -> Any:
    """The valid value with what is odd added to it, and put in the place of scalars."""
    if isinstance(valid, dict) and isinstance(odd, dict):
        both = {name: laid_over(value, odd[name]) if name in odd else value for name, value in valid.items()}
        return {**both, **{name: value for name, value in odd.items() if name not in valid}}
    if isinstance(valid, list) and isinstance(odd, list) and valid and odd:
        return [laid_over(valid[0], odd[0]), *odd[1:]]
    return odd


PARAMETERS: Final = (
    *(
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "timeoutSeconds",
        "labelSelector",
        "fieldSelector",
    ),
    *(
        "sendInitialEvents",
        "allowWatchBookmarks",
        "pretty",
        "dryRun",
        "fieldValidation",
        "fieldManager",
        "includeObject",
    ),
    *("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "force"),
)
ARGUMENTS: Final = (
    *(
        "0",
        "1",
        "-1",
        "9223372036854775808",
        "1e5",
        "true",
        "false",
        "All",
        "Strict",
        "Warn",
        "Ignore",
        "Exact",
        "Object",
    ),
    *(
        "NotOlderThan",
        "Foreground",
        "Orphan",
        "None",
        "a=b",
        "a in (b,c)",
        "!a",
        "a>5",
        "metadata.name=a",
        "(",
        "a in (",
    ),
    *("status.phase!=Running", "metadata.name=\\", "=", ",", "..", "W10", "e30"),
)
arguments = st.sampled_from(ARGUMENTS) | texts | st.text(max_size=5)
queries = st.lists(st.tuples(st.sampled_from(PARAMETERS), arguments), max_size=3).map(
    lambda pairs: "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
)
accepts = st.sampled_from(
    (
        *("", "*/*", "application/yaml", "text/html", ";;", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    )
)
patches = st.sampled_from(("merge", "strategic-merge", "json"))


def served() -> list[Any]:
    """Every kind that is stored, with its preferred version."""
    return [
        pytest.param(kind, version, id=f"{kind.group or 'core'}/{kind.plural}")
        for kind in KINDS
        for version in kind.versions[:1]
        if is_stable_version(version) and "get" in kind.verbs and "create" in kind.verbs
        if SCHEMA.find_kind_type(kind.group, version, kind.kind)
    ]


def path_of(kind: KindInfo, version: str) -> str:
    """Where objects of a kind are created."""
    root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    return f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


@pytest.mark.parametrize(("kind", "version"), served())
@settings(SETTINGS, max_examples=5)
@given(data=st.data())
async def test_no_object_of_any_kind_brings_out_a_bug(
    api: "Api", minimal: "Minimal", kind: KindInfo, version: str, data: st.DataObject
) -> None:
    node = SCHEMA.find_kind_type(kind.group, version, kind.kind)
    assert node is not None
    valid, path = minimal(kind, version, "default"), path_of(kind, version)
    name = valid["metadata"]["name"]
    await api.ask("POST", path, laid_over(valid, data.draw(values_of(node), "created")))
    await api.ask("POST", path, valid)
    await api.ask("PUT", f"{path}/{name}", laid_over(valid, data.draw(values_of(node), "updated")))
    media = f"application/{data.draw(patches, 'patch')}-patch+json"
    await api.ask("PATCH", f"{path}/{name}", data.draw(values_of(node), "patched"), media=media)
    if kind.subresource("status"):
        await api.ask("PATCH", f"{path}/{name}/status", data.draw(values_of(node), "status"), media=media)
    for accept in ("application/json;as=Table;g=meta.k8s.io;v=v1", "application/yaml"):
        assert (await api.ask("GET", path, accept=accept)).status == 200
    await api.ask("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, media="application/merge-patch+json")
    await api.ask("DELETE", f"{path}/{name}?gracePeriodSeconds=0")


@SETTINGS
@given(
    method=st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE")),
    resource=st.sampled_from(("secrets", "pods", "nodes", "deployments", "pods/a", "pods/a/status", "pods/a/log", "x")),
    query=queries,
    accept=accepts,
    body=json_values,
)
async def test_no_query_brings_out_a_bug(
    api: "Api", method: str, resource: str, query: str, accept: str, body: Any
) -> None:
    path = f"/api/v1/namespaces/kube-public/{resource}?{query}"
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    given_body = None if method in ("GET", "DELETE") else body
    await api.ask(method, path, given_body, accept=accept, media=media)


@SETTINGS
@given(data=st.binary(max_size=40), media=st.sampled_from(("application/json", "application/yaml", "x/y", "")))
async def test_no_bytes_bring_out_a_bug(api: "Api", data: bytes, media: str) -> None:
    answer = await api.ask("POST", "/api/v1/namespaces/kube-public/configmaps", data, media=media)
    assert 400 <= answer.status < 500


@SETTINGS
@given(
    segments=st.lists(
        st.sampled_from(("api", "apis", "v1", "apps", "namespaces", "default", "pods", "watch", "scale", "..", ""))
        | st.text(max_size=4).map(lambda text: quote(text, safe="")),
        max_size=7,
    ),
    method=st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")),
)
async def test_no_path_brings_out_a_bug(api: "Api", segments: list[str], method: str) -> None:
    watched = segments[2:3] == ["watch"] or "watch" in segments
    await api.ask(method, f"/{'/'.join(segments)}{'?timeoutSeconds=1' if watched else ''}")
