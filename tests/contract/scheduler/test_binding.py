"""When binding does not go well: what was taken is given back, and the pod is tried again."""

from typing import Any

import pytest

from mockkube.api.errors import Unavailable


class Failing:
    """A client whose first creations fail."""

    def __init__(self, client: Any, times: int) -> None:
        self._client, self._left = client, times

    async def create(self, *arguments: Any, **named: Any) -> Any:
        if self._left:
            self._left -= 1
            raise Unavailable("the server is away")
        return await self._client.create(*arguments, **named)


@pytest.fixture
def fail_bindings(lab):
    """Let so many bindings fail."""

    def fail(times: int) -> None:
        binder = lab.scheduler.algorithms["default-scheduler"].framework.profile.bind[0]
        binder._client = Failing(binder._client, times)

    return fail


async def test_a_binding_that_fails_is_tried_again_after_a_pause(lab, fail_bindings) -> None:
    fail_bindings(1)
    await lab.node("n1")
    await lab.pod("p")
    await lab.settle()
    message = 'running Bind plugin "DefaultBinder": the server is away'
    assert await lab.condition("p") == ("False", "SchedulerError", message)
    assert lab.sample("scheduler_schedule_attempts_total", result="error", profile="default-scheduler") == 1
    await lab.advance(2)
    assert await lab.node_of("p") == "n1"


async def test_room_that_was_taken_is_given_back(lab, fail_bindings) -> None:
    fail_bindings(1)
    await lab.node("n1", cpu="1")
    await lab.pod("fails", cpu="1")
    await lab.pod("waits", cpu="1")
    await lab.settle()
    bound = [await lab.node_of(name) for name in ("fails", "waits")]
    assert bound == ["", "n1"]
    assert lab.scheduler.cache.sizes["assumed_pods"] == 0


async def test_a_pod_deleted_while_it_waits_for_its_volume_leaves_nothing_behind(lab) -> None:
    await lab.node("n1", cpu="1")
    storage = {"storageClassName": "slow", "accessModes": ["ReadWriteOnce"]}
    late = {"provisioner": "example.com/slow", "volumeBindingMode": "WaitForFirstConsumer"}
    await lab.admin.create("StorageClass", {"metadata": {"name": "slow"}, **late})
    claim = {**storage, "resources": {"requests": {"storage": "1Gi"}}}
    await lab.admin.create("PersistentVolumeClaim", {"metadata": {"name": "c", "namespace": "default"}, "spec": claim})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    await lab.pod("p", cpu="1", volumes=[volume])
    await lab.settle()
    assert (await lab.get("p"))["status"]["nominatedNodeName"] == "n1"
    await lab.delete("Pod", "p")
    await lab.pod("next", cpu="1")
    await lab.advance(5)
    assert await lab.node_of("next") == "n1"
