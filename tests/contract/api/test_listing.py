"""Listing over HTTP: selectors, pages, and what a resourceVersion means."""

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def secrets(api: "Api", lab: str) -> str:
    """The path of five secrets: `s0` to `s4`, by turns of the colours red and blue, the even ones of type `even`."""
    for index in range(5):
        metadata = {"name": f"s{index}", "labels": {"colour": ("red", "blue")[index % 2], "index": str(index)}}
        await api.create(f"{lab}/secrets", {"metadata": metadata, "type": ("even", "odd")[index % 2]})
    return f"{lab}/secrets"


def names(whole: Object) -> list[str]:
    return [item["metadata"]["name"] for item in whole["items"]]


async def test_a_list_is_in_the_order_of_names_and_says_of_what_and_when(api: "Api", secrets: str) -> None:
    whole = await api.get(secrets)
    assert (whole["kind"], whole["apiVersion"]) == ("SecretList", "v1")
    assert int(whole["metadata"]["resourceVersion"]) >= max(
        int(item["metadata"]["resourceVersion"]) for item in whole["items"]
    )
    assert names(whole) == ["s0", "s1", "s2", "s3", "s4"]


async def test_items_of_a_list_leave_out_their_kind(api: "Api", secrets: str) -> None:
    item = (await api.get(secrets))["items"][0]
    one = await api.get(f"{secrets}/s0")
    assert {"kind": "Secret", "apiVersion": "v1", **item} == one


async def test_an_empty_list_has_items(api: "Api", lab: str) -> None:
    assert (await api.get(f"{lab}/pods"))["items"] == []


async def test_a_list_over_all_namespaces_is_ordered_by_namespace(api: "Api", secrets: str) -> None:
    items = (await api.get("/api/v1/secrets"))["items"]
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items]
    assert places == sorted(places)
    assert len(places) >= 5


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("labelSelector=colour%3Dred", ["s0", "s2", "s4"], id="a label equals"),
        pytest.param("labelSelector=colour!%3Dred", ["s1", "s3"], id="a label differs"),
        pytest.param("labelSelector=index+in+(1,2)", ["s1", "s2"], id="a label is one of"),
        pytest.param("labelSelector=index+notin+(1,2),colour%3Dred", ["s0", "s4"], id="a label is none of"),
        pytest.param("labelSelector=index>2", ["s3", "s4"], id="a label is greater"),
        pytest.param("labelSelector=!colour", [], id="a label is missing"),
        pytest.param("fieldSelector=metadata.name%3Ds3", ["s3"], id="the name"),
        pytest.param("fieldSelector=type%3Deven", ["s0", "s2", "s4"], id="a field of the kind"),
        pytest.param("fieldSelector=type!%3Deven&labelSelector=index%3D1", ["s1"], id="fields and labels"),
    ],
)
async def test_a_list_shows_what_is_selected(api: "Api", secrets: str, query: str, expected: list[str]) -> None:
    assert names(await api.get(f"{secrets}?{query}")) == expected


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("labelSelector=a+in+1", id="no list"),
        pytest.param("labelSelector=%3D%3D", id="no key"),
        pytest.param("fieldSelector=metadata.name", id="no operator"),
        pytest.param("fieldSelector=data%3Dx", id="a field that cannot be selected by"),
        pytest.param("limit=many", id="a limit in words"),
        pytest.param("continue=%25%25", id="no token"),
        pytest.param("resourceVersion=new", id="a version in words"),
    ],
)
async def test_a_list_that_makes_no_sense_is_refused(api: "Api", secrets: str, query: str) -> None:
    answer = await api.ask("GET", f"{secrets}?{query}")
    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")


async def test_pages_together_are_the_whole_list(api: "Api", secrets: str) -> None:
    first = await api.get(f"{secrets}?limit=2")
    token = first["metadata"]["continue"]
    second = await api.get(f"{secrets}?limit=2&continue={token}")
    third = await api.get(f"{secrets}?limit=2&continue={second['metadata']['continue']}")
    assert [names(page) for page in (first, second, third)] == [["s0", "s1"], ["s2", "s3"], ["s4"]]
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert "continue" not in third["metadata"]


async def test_pages_show_one_moment(api: "Api", secrets: str) -> None:
    first = await api.get(f"{secrets}?limit=2")
    await api.create(secrets, {"metadata": {"name": "s2a"}})
    await api.delete(f"{secrets}/s3")
    rest = await api.get(f"{secrets}?continue={first['metadata']['continue']}")
    assert names(rest) == ["s2", "s3", "s4"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_pages_of_a_selection_do_not_say_how_many_remain(api: "Api", secrets: str) -> None:
    first = await api.get(f"{secrets}?limit=1&labelSelector=colour%3Dred")
    assert names(first) == ["s0"]
    assert "remainingItemCount" not in first["metadata"]
    rest = await api.get(f"{secrets}?labelSelector=colour%3Dred&continue={first['metadata']['continue']}")
    assert names(rest) == ["s2", "s4"]


async def test_a_page_after_compaction_has_expired(api: "Api", secrets: str) -> None:
    first = await api.get(f"{secrets}?limit=2")
    await api.patch(f"{secrets}/s4", {"metadata": {"labels": {"colour": "green"}}})
    await api.store.compact(await api.store.current_revision())
    answer = await api.ask("GET", f"{secrets}?limit=2&continue={first['metadata']['continue']}")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")


async def test_an_exact_version_shows_what_was(api: "Api", secrets: str) -> None:
    before = await api.get(secrets)
    await api.delete(f"{secrets}/s0")
    version = before["metadata"]["resourceVersion"]
    again = await api.get(f"{secrets}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert again == before


async def test_an_exact_version_that_was_compacted_has_expired(api: "Api", secrets: str) -> None:
    version = (await api.get(secrets))["metadata"]["resourceVersion"]
    await api.delete(f"{secrets}/s0")
    await api.store.compact(await api.store.current_revision())
    answer = await api.ask("GET", f"{secrets}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")


async def test_no_older_than_a_version_shows_what_is(api: "Api", secrets: str) -> None:
    version = (await api.get(secrets))["metadata"]["resourceVersion"]
    await api.delete(f"{secrets}/s0")
    later = await api.get(f"{secrets}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
    assert names(later) == ["s1", "s2", "s3", "s4"]


async def test_a_version_of_the_future_is_too_large(api: "Api", secrets: str) -> None:
    answer = await api.ask("GET", f"{secrets}?resourceVersion=1000000000")
    assert answer.status == 504
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("resourceVersionMatch=Exact", id="a match of no version"),
        pytest.param("resourceVersionMatch=Nearly&resourceVersion=1", id="a match nobody knows"),
        pytest.param("resourceVersionMatch=Exact&resourceVersion=0", id="exactly any"),
        pytest.param("sendInitialEvents=true", id="events without a watch"),
    ],
)
async def test_options_that_contradict_each_other_are_refused(api: "Api", secrets: str, query: str) -> None:
    answer = await api.ask("GET", f"{secrets}?{query}")
    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
