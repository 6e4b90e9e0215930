"""Faults of watches, and of writes that take effect: what a client sees late, never or twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tests.contract.control.test_faults import FAULTS, MAPS, config_map, inject, injected

READY = {"match": {"name": "none"}, "inject": {"status": {"code": 500}}}


class Events:
    """Events of an open watch."""

    def __init__(self, content: Any) -> None:
        self._content = content

    async def take(self, count: int) -> list[tuple[str, str, str]]:
        """The next events: type, name and the value of `x`."""
        found = [orjson.loads(await self._content.readline()) for _ in range(count)]
        return [
            (one["type"], one["object"]["metadata"]["name"], one["object"].get("data", {}).get("x", ""))
            for one in found
        ]


@asynccontextmanager
async def watching(control: Any, query: str = "") -> AsyncIterator[Events]:
    """A watch of the ConfigMaps from now on."""
    revision = (await control.get(MAPS))["metadata"]["resourceVersion"]
    path = f"{control.url}{MAPS}?watch=true&{query or f'resourceVersion={revision}'}"
    async with control.session.get(path) as response:
        assert response.status == 200
        yield Events(response.content)


async def end(control: Any, name: str = "f") -> None:
    """Delete a fault, and wait until it is no longer in force."""
    assert (await control.ask("DELETE", f"{FAULTS}/{name}")).status == 200
    await inject(control, f"after-{name}", **READY)


async def change(control: Any, name: str, x: str) -> None:
    assert (await control.patch(f"{MAPS}/{name}", {"data": {"x": x}})).status == 200


class TestHeldEvents:
    async def test_they_come_in_order_when_the_fault_ends(self, control: Any) -> None:
        async with watching(control) as events:
            await control.create(MAPS, config_map("before"))
            assert await events.take(1) == [("ADDED", "before", "")]
            await inject(control, match={"resources": ["configmaps"]}, inject={"holdEvents": True})
            await control.create(MAPS, config_map("a", x="1"))
            await injected(control, 1)
            await change(control, "a", "2")
            assert (await control.get(f"{MAPS}/a"))["data"] == {"x": "2"}  # it is there for those who read
            await end(control)
            await control.create(MAPS, config_map("after"))
            assert await events.take(3) == [("ADDED", "a", "1"), ("MODIFIED", "a", "2"), ("ADDED", "after", "")]

    async def test_those_before_the_matching_one_come_at_once(self, control: Any) -> None:
        await inject(control, match={"name": "b"}, inject={"holdEvents": True}, skip=1)
        async with watching(control) as events:
            await control.create(MAPS, config_map("a"))
            await control.create(MAPS, config_map("b", x="1"))
            await change(control, "b", "2")
            await control.create(MAPS, config_map("c"))
            assert await events.take(2) == [("ADDED", "a", ""), ("ADDED", "b", "1")]
            await injected(control, 1)
            await end(control)
            assert await events.take(2) == [("MODIFIED", "b", "2"), ("ADDED", "c", "")]

    async def test_a_watch_that_opens_later_is_held_too(self, control: Any) -> None:
        await inject(control, match={"resources": ["configmaps"]}, inject={"holdEvents": True})
        async with watching(control) as events:
            await control.create(MAPS, config_map("a"))
            await injected(control, 1)
            await end(control)
            assert await events.take(1) == [("ADDED", "a", "")]


class TestMissedEvents:
    async def test_the_next_state_comes_instead(self, control: Any) -> None:
        await inject(control, match={"name": "a"}, inject={"missEvents": True}, skip=1, count=1)
        async with watching(control) as events:
            await control.create(MAPS, config_map("a", x="1"))
            await change(control, "a", "2")
            await injected(control, 1)
            await change(control, "a", "3")
            assert await events.take(2) == [("ADDED", "a", "1"), ("MODIFIED", "a", "3")]

    async def test_a_missed_creation_shows_with_the_next_change(self, control: Any) -> None:
        await inject(control, match={"name": "a"}, inject={"missEvents": True}, count=1)
        async with watching(control) as events:
            await control.create(MAPS, config_map("a", x="1"))
            await change(control, "a", "2")
            assert await events.take(1) == [("ADDED", "a", "2")]

    async def test_an_object_that_lived_meanwhile_never_shows(self, control: Any) -> None:
        await inject(control, match={"name": "a"}, inject={"missEvents": True}, count=1)
        async with watching(control) as events:
            await control.create(MAPS, config_map("a"))
            await control.ask("DELETE", f"{MAPS}/a")
            await control.create(MAPS, config_map("b"))
            assert await events.take(1) == [("ADDED", "b", "")]

    async def test_an_object_that_is_created_again_is_modified(self, control: Any) -> None:
        await control.create(MAPS, config_map("a", x="1"))
        await inject(control, match={"name": "a"}, inject={"missEvents": True}, count=1)
        async with watching(control) as events:
            await control.ask("DELETE", f"{MAPS}/a")
            await control.create(MAPS, config_map("a", x="2"))
            assert await events.take(1) == [("MODIFIED", "a", "2")]

    async def test_the_last_state_comes_when_the_fault_ends(self, control: Any) -> None:
        await inject(control, match={"name": "a"}, inject={"missEvents": True})
        async with watching(control) as events:
            await control.create(MAPS, config_map("a", x="1"))
            await change(control, "a", "2")
            await injected(control, 2)
            await end(control)
            assert await events.take(1) == [("ADDED", "a", "2")]


async def test_repeated_events_come_twice(control: Any) -> None:
    await inject(control, match={"name": "a"}, inject={"repeatEvents": True})
    async with watching(control) as events:
        await control.create(MAPS, config_map("a"))
        await control.create(MAPS, config_map("b"))
        assert await events.take(3) == [("ADDED", "a", ""), ("ADDED", "a", ""), ("ADDED", "b", "")]


class TestAfterEffect:
    async def test_the_write_is_done_and_an_error_is_the_answer(self, control: Any) -> None:
        answer = {"code": 504, "reason": "Timeout"}
        await inject(control, match={"verbs": ["create"]}, inject={"status": answer, "afterEffect": True}, count=1)
        assert (await control.ask("POST", MAPS, config_map("a"))).status == 504
        assert (await control.ask("POST", MAPS, config_map("a"))).body["reason"] == "AlreadyExists"

    async def test_an_error_of_its_own_stays_the_answer(self, control: Any) -> None:
        await inject(control, inject={"status": {"code": 504}, "afterEffect": True})
        assert (await control.ask("DELETE", f"{MAPS}/none")).status == 404

    async def test_the_second_of_three_can_be_meant(self, control: Any) -> None:
        spec = {"inject": {"status": {"code": 504}, "afterEffect": True}, "skip": 1, "count": 1}
        await inject(control, match={"verbs": ["create"]}, **spec)
        statuses = [(await control.ask("POST", MAPS, config_map(name))).status for name in "abc"]
        assert statuses == [201, 504, 201]


class TestPastState:
    @pytest.fixture(autouse=True)
    async def _past(self, control: Any) -> None:
        await control.create(MAPS, config_map("gone"))
        revision = (await control.get(MAPS))["metadata"]["resourceVersion"]
        await control.ask("DELETE", f"{MAPS}/gone")
        await control.create(MAPS, config_map("new"))
        await inject(control, match={"fromCache": True}, inject={"staleReads": True, "resourceVersion": revision})

    async def test_reads_from_a_cache_show_it(self, control: Any) -> None:
        listed = await control.get(f"{MAPS}?resourceVersion=0")
        assert [one["metadata"]["name"] for one in listed["items"]] == ["gone", "kube-root-ca.crt"]

    async def test_other_reads_show_the_present(self, control: Any) -> None:
        listed = await control.get(MAPS)
        assert [one["metadata"]["name"] for one in listed["items"]] == ["kube-root-ca.crt", "new"]

    async def test_a_watch_begins_with_it_and_catches_up(self, control: Any) -> None:
        async with watching(control, "resourceVersion=0") as events:
            assert await events.take(4) == [
                ("ADDED", "gone", ""),
                ("ADDED", "kube-root-ca.crt", ""),
                ("DELETED", "gone", ""),
                ("ADDED", "new", ""),
            ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"inject": {"dropWatch": True, "afterEffect": True}},
            "spec.inject.afterEffect: Forbidden: goes with status only",
            id="an effect of nothing",
        ),
        pytest.param(
            {"inject": {"expired": True, "resourceVersion": "5"}},
            "spec.inject.resourceVersion: Forbidden: goes with staleReads only",
            id="a version without stale reads",
        ),
        pytest.param(
            {"inject": {"staleReads": True, "resourceVersion": "old"}},
            'spec.inject.resourceVersion: Invalid value: "old": must be that of a list',
            id="no version",
        ),
        pytest.param(
            {"inject": {"holdEvents": True, "missEvents": True}},
            "spec.inject.missEvents: Forbidden: may not go with holdEvents",
            id="two effects",
        ),
        pytest.param(
            {"inject": {"holdEvents": True}, "skip": -1}, "spec.skip: Invalid value: -1: must be 0 or more", id="skip"
        ),
    ],
)
async def test_what_cannot_be_meant_is_refused(control: Any, spec: dict[str, Any], message: str) -> None:
    answer = await control.ask("POST", FAULTS, {"metadata": {"name": "f"}, "spec": spec})
    assert (answer.status, message in answer.message) == (422, True), answer.message
