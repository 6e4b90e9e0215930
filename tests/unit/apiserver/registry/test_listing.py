"""Which records a list shows, and where its next page begins."""

import base64
import posixpath

import orjson
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import ApiError, BadRequest, Expired, Timeout
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, listing, options
from mockkube.apiserver.registry.continue_token import ContinueToken, decode_continue_token
from mockkube.apiserver.registry.listing import ListResult
from mockkube.apiserver.registry.options import ListOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource


@pytest_asyncio.fixture
async def configs(registry: Registry) -> Resource:
    """ConfigMaps a to e in the namespace lab, by turns of the sides left and right, and one elsewhere."""
    resource = registry.resources["", "v1", "configmaps"]
    for index, name in enumerate("abcde"):
        await add(resource, name, side=("left", "right")[index % 2])
    await add(resource, "f", "elsewhere", side="left")
    return resource


async def add(resource: Resource, name: str, namespace: str = "lab", **labels: str) -> None:
    """Create a ConfigMap."""
    metadata = {"name": name, "labels": labels}
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
    await creation.create(resource, RequestScope(User("u"), namespace), obj, WriteOptions())


async def shown(resource: Resource, namespace: str = "lab", **query: str) -> ListResult:
    """A page."""
    return await listing.list_page(
        resource, namespace, options.parse_list_options({key: [text] for key, text in query.items()})
    )


def names(listed: ListResult) -> list[str]:
    return [record.name for record in listed.items]


async def test_a_namespace_or_all_of_them_is_shown(configs: Resource) -> None:
    assert names(await shown(configs)) == list("abcde")
    assert names(await shown(configs, "")) == ["f", *"abcde"]
    assert names(await shown(configs, "nowhere")) == []


async def test_selectors_choose(configs: Resource) -> None:
    assert names(await shown(configs, labelSelector="side=left")) == list("ace")
    assert names(await shown(configs, fieldSelector="metadata.name=b")) == ["b"]
    assert names(await shown(configs, labelSelector="side=left", fieldSelector="metadata.name=b")) == []
    assert names(await shown(configs, "", fieldSelector="metadata.namespace=elsewhere")) == ["f"]


async def test_what_a_kind_cannot_be_selected_by_is_refused(configs: Resource) -> None:
    with pytest.raises(BadRequest, match='"data" is not a known field selector'):
        await shown(configs, fieldSelector="data=x")


@pytest.mark.parametrize("limit", ["1", "2", "3", "5", "9"])
@pytest.mark.parametrize("query", [{}, {"labelSelector": "side=left"}, {"labelSelector": "side=none"}])
async def test_pages_of_any_size_make_the_whole(configs: Resource, limit: str, query: dict[str, str]) -> None:
    whole, pages, token = names(await shown(configs, **query)), [], ""
    while True:
        page = await shown(configs, limit=limit, **query, **({"continue": token} if token else {}))
        assert len(page.items) <= int(limit)
        pages += names(page)
        token = page.continue_token
        if not token:
            break
    assert pages == whole


async def test_a_page_counts_what_remains_unless_it_is_a_selection(configs: Resource) -> None:
    assert (await shown(configs, limit="2")).remaining == 3
    assert (await shown(configs, limit="5")).remaining is None
    assert (await shown(configs, limit="1", labelSelector="side=left")).remaining is None


async def test_later_pages_show_the_moment_of_the_first(configs: Resource) -> None:
    first = await shown(configs, limit="2")
    await add(configs, "bb")
    rest = await shown(configs, **{"continue": first.continue_token})
    assert (names(rest), rest.revision) == (list("cde"), first.revision)


async def test_an_exact_revision_shows_what_was(configs: Resource) -> None:
    before = await shown(configs)
    await add(configs, "z")
    again = await shown(configs, resourceVersion=str(before.revision), resourceVersionMatch="Exact")
    assert (names(again), again.revision) == (list("abcde"), before.revision)


async def test_what_was_compacted_has_expired(configs: Resource) -> None:
    before = await shown(configs, limit="2")
    await add(configs, "z")
    store = configs.dependencies.store
    await store.compact(await store.current_revision())
    with pytest.raises(Expired, match="or use the continue token in this response") as raised:
        await shown(configs, **{"continue": before.continue_token})
    token = raised.value.status()["metadata"]["continue"]
    assert decode_continue_token(token) == ContinueToken(-1, "b\x00")
    rest = await shown(configs, limit="2", **{"continue": token})
    newest = await store.current_revision()
    assert (names(rest), rest.revision, rest.remaining) == (["c", "d"], newest, 2)
    assert decode_continue_token(rest.continue_token) == ContinueToken(newest, "d\x00")
    with pytest.raises(Expired, match="too old"):
        await shown(configs, resourceVersion=str(before.revision), resourceVersionMatch="Exact")


async def test_the_future_is_not_waited_for(configs: Resource) -> None:
    with pytest.raises(Timeout, match="Too large resource version: 1000, current: "):
        await shown(configs, resourceVersion="1000")


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"v": "meta.k8s.io/v1", **fields})).rstrip(b"=").decode()


@given(
    revision=st.integers(1, 1 << 60),
    start=st.text(alphabet="abc/.\x00-", min_size=1).filter(lambda text: text[0] != "/"),
)
def test_a_token_is_read_as_it_was_written(revision: int, start: str) -> None:
    if posixpath.normpath(f"/{start}") == f"/{start}":
        assert decode_continue_token(ContinueToken(revision, start).encode()) == ContinueToken(revision, start)


def test_a_slash_before_the_key_of_a_token_is_ignored() -> None:
    assert decode_continue_token(token(rv=1, start="/a/b")) == ContinueToken(1, "a/b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("ab%", "illegal base64 data at input byte 2", id="no base64"),
        pytest.param("abcde", "illegal base64 data at input byte 4", id="cut off"),
        pytest.param("abcd====", "illegal base64 data at input byte 4", id="padded"),
        pytest.param("abc", "invalid character 'i' looking for beginning of value", id="no JSON"),
        pytest.param("W10", "json: cannot unmarshal array into Go value of type storage.continueToken", id="an array"),
        pytest.param("e30", "server does not recognize this encoded version ", id="no version"),
        pytest.param(
            token(start="a"),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            id="no revision",
        ),
        pytest.param(
            token(rv="1", start="a"),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
            id="a revision that is no number",
        ),
        pytest.param(token(rv=1), "encoded start key empty (version meta.k8s.io/v1)", id="no start"),
        pytest.param(
            token(rv=1, start=5),
            "json: cannot unmarshal number into Go struct field continueToken.start of type string",
            id="a start that is a number",
        ),
        pytest.param(token(rv=1, start="//a"), "//a", id="two slashes"),
        pytest.param(token(rv=1, start="a/"), "a/", id="a slash at the end"),
        pytest.param(token(rv=1, start="a/../b"), "a/../b", id="a start that climbs"),
    ],
)
async def test_a_token_nobody_gave_out_is_refused(configs: Resource, text: str, why: str) -> None:
    # The token is read before other options.
    options = ListOptions(continue_token=text, resource_version="5")
    with pytest.raises(BadRequest) as raised:
        await listing.list_page(configs, "lab", options)
    assert raised.value.message == f"invalid continue token: continue key is not valid: {why}"


@given(st.text(max_size=20) | st.binary(max_size=20).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_token_is_read_or_refused(text: str) -> None:
    with pytest.raises(ApiError):
        decode_continue_token(text)
