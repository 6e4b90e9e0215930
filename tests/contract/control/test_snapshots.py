"""Snapshots: the whole state at the moment one is created, restored as often as it is asked for."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

CONTROL = "/apis/control.mockkube.dev/v1alpha1"
COMPONENTS = f"{CONTROL}/components"
SNAPSHOTS = f"{CONTROL}/snapshots"
MAPS = "/api/v1/namespaces/default/configmaps"
GT = "TaintTolerationComparisonOperators"
Start = Callable[..., AbstractAsyncContextManager[Any]]


def condition(obj: dict[str, Any], kind: str) -> tuple[str, str]:
    for one in obj["status"].get("conditions", ()):
        if one["type"] == kind:
            return one["status"], one["reason"]
    return "", ""


async def until(control: Any, name: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The snapshot once it is so."""
    seen: AsyncIterator[dict[str, Any]] = control.seen(name, "snapshots")
    async for obj in seen:
        if done(obj):
            return obj
    raise AssertionError("the watch has ended")


async def save(control: Any, name: str = "s") -> dict[str, Any]:
    await control.create(SNAPSHOTS, {"metadata": {"name": name}})
    return await until(control, name, lambda obj: bool(condition(obj, "Saved")[0]))


async def restore(control: Any, name: str = "s", number: int = 1) -> dict[str, Any]:
    answer = await control.patch(f"{SNAPSHOTS}/{name}", {"spec": {"restore": number}})
    assert answer.status == 200, answer.body
    return await until(control, name, lambda obj: obj["status"].get("restored") == number)


async def names(control: Any) -> list[str]:
    listed = await control.get(MAPS)
    return [item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def test_what_is_there_is_saved(control: Any) -> None:
    await control.create(MAPS, config_map("a"))
    revision = (await control.get(MAPS))["metadata"]["resourceVersion"]
    saved = await save(control)
    assert condition(saved, "Saved") == ("True", "Saved")
    status = saved["status"]
    assert str(status["revision"]) == revision
    assert (status["components"], status["objects"] > 20, status["bytes"] > 1000) == (4, True, True)


async def test_what_was_there_comes_back_and_what_was_not_goes(control: Any) -> None:
    kept = await control.create(MAPS, config_map("kept", x="1"))
    await control.create(MAPS, config_map("changed", x="1"))
    await save(control)
    await control.ask("DELETE", f"{MAPS}/kept")
    await control.patch(f"{MAPS}/changed", {"data": {"x": "2"}})
    await control.create(MAPS, config_map("new"))
    restored = await restore(control)
    assert condition(restored, "Restored") == ("True", "Restored")
    assert await names(control) == ["changed", "kept"]
    assert (await control.get(f"{MAPS}/changed"))["data"] == {"x": "1"}
    back = await control.get(f"{MAPS}/kept")
    assert back["metadata"]["uid"] == kept["metadata"]["uid"]
    assert int(back["metadata"]["resourceVersion"]) > int(kept["metadata"]["resourceVersion"])


async def test_it_is_of_the_moment_it_was_created(control: Any) -> None:
    await control.create(MAPS, config_map("before"))
    await control.create(SNAPSHOTS, {"metadata": {"name": "s"}})
    await control.create(MAPS, config_map("after"))
    await until(control, "s", lambda obj: bool(condition(obj, "Saved")[0]))
    await restore(control)
    assert await names(control) == ["before"]


async def test_it_can_be_restored_again(control: Any) -> None:
    await save(control)
    for number in (1, 5):
        await control.create(MAPS, config_map("a"))
        await restore(control, number=number)
        assert await names(control) == []


async def test_nobody_goes_on_from_what_was_seen_before(control: Any) -> None:
    await save(control)
    await control.create(MAPS, config_map("a"))
    seen = (await control.get(MAPS))["metadata"]["resourceVersion"]
    async with control.session.get(f"{control.url}{MAPS}?watch=true&resourceVersion={seen}") as response:
        await restore(control)
        assert await response.content.read() == b""
    async with control.session.get(f"{control.url}{MAPS}?watch=true&resourceVersion={seen}") as response:
        assert (response.status, (await response.json())["reason"]) == (410, "Expired")


async def test_components_are_told_what_they_were_told(control: Any) -> None:
    await control.tell("kube-apiserver", featureGates={GT: True})
    await save(control)
    await control.tell("kube-apiserver", version="1.35", featureGates={GT: None})
    await control.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
    await restore(control)
    back = await control.settled("kube-apiserver")
    assert (back["spec"]["version"], back["spec"]["featureGates"]) == ("1.36", {GT: True})
    assert (await control.ask("GET", f"{COMPONENTS}/kube-apiserver.1")).status == 404
    assert (await control.get("/version"))["gitVersion"] == "v1.36.4"


async def test_one_that_is_deleted_lets_go_of_what_it_kept(start: Start, tmp_path: Any) -> None:
    async with start(db=None) as control:
        await save(control, "a")
        await save(control, "b")
        assert len(list((tmp_path / "state" / "lab" / "snapshots").iterdir())) == 2
        assert (await control.ask("DELETE", f"{SNAPSHOTS}/a")).status == 200
        await save(control, "c")  # so that the deletion has been seen to
        assert len(list((tmp_path / "state" / "lab" / "snapshots").iterdir())) == 2


async def test_it_outlives_the_process(start: Start) -> None:
    async with start(db=None) as control:
        await control.create(MAPS, config_map("a"))
        await save(control)
        await control.ask("DELETE", f"{MAPS}/a")
    async with start(db=None) as control:
        await restore(control)
        assert await names(control) == ["a"]


async def test_what_cannot_be_read_changes_nothing_and_says_so(start: Start, tmp_path: Any) -> None:
    async with start(db=None) as control:
        saved = await save(control)
        (tmp_path / "state" / "lab" / "snapshots" / saved["metadata"]["uid"]).write_text("nonsense")
        await control.create(MAPS, config_map("a"))
        restored = await restore(control)
        assert condition(restored, "Restored") == ("False", "Failed")
        assert restored["status"]["conditions"][1]["message"] == "restoring 1: it is no snapshot, or damaged"
        assert await names(control) == ["a"]


async def test_the_number_only_grows(control: Any) -> None:
    await save(control)
    await restore(control, number=3)
    answer = await control.patch(f"{SNAPSHOTS}/s", {"spec": {"restore": 2}})
    assert "spec.restore: Invalid value: 2: must not be less than before: give 4 to restore again" in answer.message


async def test_nothing_is_restored_before_it_is_saved(control: Any) -> None:
    answer = await control.ask("POST", SNAPSHOTS, {"metadata": {"name": "s"}, "spec": {"restore": 1}})
    assert answer.status == 422
    assert "spec.restore: Forbidden: nothing has been saved yet" in answer.message


async def test_kubectl_gets_a_table(control: Any) -> None:
    saved = await save(control)
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = (await control.ask("GET", SNAPSHOTS, accept=accept)).body
    shown = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
    assert shown == ["Name", "Saved", "Objects", "Size", "Restored", "Age"]
    assert table["rows"][0]["cells"][:3] == ["s", "True", saved["status"]["objects"]]
