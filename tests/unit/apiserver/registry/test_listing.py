"""Which records a list shows, and where its next page begins."""

import base64

import orjson
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import ApiError, BadRequest, Expired, Timeout
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, listing, options
from mockkube.apiserver.registry.listing import ContinueToken, ListResult
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
    return [record.name for record in listed.records]


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
        assert len(page.records) <= int(limit)
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
    with pytest.raises(Expired, match="continue parameter is too old"):
        await shown(configs, **{"continue": before.continue_token})
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
    if "/../" not in f"/{start}/":
        assert listing._decode_token(ContinueToken(revision, start).encode()) == ContinueToken(revision, start)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("%", id="no base64"),
        pytest.param("abc", id="no JSON"),
        pytest.param("W10", id="an array"),
        pytest.param("e30", id="no version"),
        pytest.param(token(rv=1), id="no start"),
        pytest.param(token(rv=1, start=5), id="a start that is a number"),
        pytest.param(token(rv=1, start="/a"), id="a start at the root"),
        pytest.param(token(rv=1, start="a/../b"), id="a start that climbs"),
    ],
)
async def test_a_token_nobody_gave_out_is_refused(configs: Resource, text: str) -> None:
    with pytest.raises(BadRequest, match="continue key is not valid"):
        await listing.list_page(configs, "lab", ListOptions(continue_token=text))


@given(st.text(max_size=20) | st.binary(max_size=20).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_token_is_read_or_refused(text: str) -> None:
    with pytest.raises(ApiError):
        listing._decode_token(text)
