"""`kubectl logs` of containers that do not really run."""

import asyncio

import pytest

from mockkube.api.errors import BadRequest

DEFAULT = "mockkube: default/p/main runs no process; set the annotation mockkube.dev/logs\n"


async def test_a_container_without_an_annotation_says_so(world):
    await world.pod("p")
    assert await world.log("p") == DEFAULT


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param({}, "one\ntwo\n", id="all"),
        pytest.param({"tailLines": "1"}, "two\n", id="the end"),
        pytest.param({"tailLines": "0"}, "", id="nothing"),
        pytest.param({"limitBytes": "5"}, "one\nt", id="the beginning"),
        pytest.param({"timestamps": "true", "tailLines": "1"}, "2030-01-01T00:00:00Z two\n", id="with times"),
        pytest.param({"sinceSeconds": "60"}, "one\ntwo\n", id="lately"),
        pytest.param({"sinceSeconds": "5"}, "", id="too long ago"),
        pytest.param({"sinceTime": "2030-01-01T00:00:01Z"}, "", id="before that moment"),
    ],
)
async def test_logs_are_shown_as_asked_for(world, query, shown):
    await world.pod("p", annotations={"mockkube.dev/logs": "one\ntwo"})
    await world.lab.advance(10)
    assert await world.log("p", **query) == shown


async def test_a_log_is_followed_until_the_container_ends(world):
    command = ["sh", "-c", "echo a; sleep 5; printf b; sleep 5; echo c; sleep 60"]
    await world.pod("p", containers=[{"name": "main", "image": "x", "command": command}], restartPolicy="Never")
    following = asyncio.create_task(world.log("p", follow="true", timestamps="true"))
    await world.lab.advance(30)
    assert not following.done()
    await world.lab.advance(60)
    assert await following == "2030-01-01T00:00:00Z a\n2030-01-01T00:00:05Z bc\n"


async def test_each_run_is_followed_alone(world):
    command = ["sh", "-c", "echo a; sleep 5; exit 1"]
    await world.pod("p", containers=[{"name": "main", "image": "x", "command": command}])
    following = asyncio.create_task(world.log("p", follow="true"))
    await world.lab.advance(60)
    assert await following == "a\n"


async def test_a_followed_log_ends_with_its_pod(world):
    await world.pod("p", annotations={"mockkube.dev/logs": "one\ntwo"})
    following = asyncio.create_task(world.log("p", follow="true", tailLines="1"))
    await world.lab.advance(10)
    assert not following.done()
    await world.delete("Pod", "p", grace_seconds=0)
    assert await following == "two\n"


async def test_a_container_that_cannot_start_has_no_log(world):
    await world.pod("p", annotations={"mockkube.dev/image-pull-error": "*"})
    with pytest.raises(BadRequest, match="is waiting to start: trying and failing to pull image"):
        await world.log("p")


async def test_only_a_container_that_was_started_again_has_a_previous_log(world):
    await world.pod("p", annotations={"mockkube.dev/exit": "1@5s"})
    with pytest.raises(BadRequest, match='previous terminated container "main" in pod "p" not found'):
        await world.log("p", previous="true")
    await world.lab.advance(6)
    assert await world.log("p", previous="true", timestamps="true") == f"2030-01-01T00:00:00Z {DEFAULT}"


async def test_a_pod_without_a_kubelet_has_the_log_of_its_annotation(world):
    await world.node("n", {"mockkube.dev/kubelet": "none"})
    await world.pod("p", "n", annotations={"mockkube.dev/logs.main": "text"})
    assert await world.log("p") == "text\n"


COUNT = ["sh", "-c", 'i=0; while true; do echo "$i"; i=$((i+1)); sleep 5; done']


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param({}, "0\n1\n2\n", id="as time passes"),
        pytest.param({"tailLines": "1", "timestamps": "true"}, "2030-01-01T00:00:10Z 2\n", id="with times"),
        pytest.param({"sinceSeconds": "6"}, "1\n2\n", id="lately"),
    ],
)
async def test_what_a_command_prints_is_its_log(world, query, shown):
    await world.pod("p", containers=[{"name": "main", "image": "busybox", "command": COUNT}])
    await world.lab.advance(11)
    assert await world.log("p", **query) == shown


async def test_every_run_has_a_log_of_its_own(world):
    again = ["sh", "-c", "echo $(date +%M:%S); sleep 60; echo end; exit 1"]
    await world.pod("p", containers=[{"name": "main", "image": "busybox", "command": again}])
    await world.lab.advance(65)
    assert await world.log("p", previous="true") == "00:00\nend\n"
    assert await world.log("p") == "01:00\n"


async def test_values_of_secrets_are_shown_where_a_command_prints_them(world):
    await world.create("Secret", "s", stringData={"k": "hidden"})
    source = {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    main = {"name": "main", "image": "busybox", "command": ["sh", "-c", "echo $WORD-; sleep 1d"], "env": [source]}
    await world.pod("p", containers=[main])
    assert await world.log("p") == "hidden-\n"


async def test_the_annotation_has_the_say_over_the_command(world):
    main = {"name": "main", "image": "busybox", "command": COUNT}
    await world.pod("p", containers=[main], annotations={"mockkube.dev/logs": "text"})
    assert await world.log("p") == "text\n"
