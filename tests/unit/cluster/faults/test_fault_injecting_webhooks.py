"""Faults of admission webhooks: slow answers, none in time, errors; and which calls they match."""

from typing import Any

import pytest

from mockkube.apiserver.registry.webhook_calls import WebhookCallError
from mockkube.cluster.faults.fault_injecting_webhooks import FaultInjectingWebhooks
from mockkube.cluster.faults.faults import FaultRequest, Faults
from mockkube.runtime.random import Random

REVIEW = {
    "request": {
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "namespace": "default",
        "userInfo": {"username": "alice"},
    }
}


class World:
    """A webhook that answers at once, and the time that passed."""

    def __init__(self, match: dict[str, Any], inject: dict[str, Any]) -> None:
        self.slept: list[float] = []
        self.timeouts: list[float] = []
        self.faults = Faults(Random.from_seed(1, "faults"))
        fault = {"metadata": {"name": "f", "uid": "u"}, "spec": {"match": match, "inject": inject}}
        self.faults.replace_faults({"f": fault})
        self._webhooks = FaultInjectingWebhooks("kube-apiserver", self._answer, self.faults, pause_step=self._sleep)

    async def _answer(self, client: Any, review: Any, seconds: float, name: str) -> str:
        self.timeouts.append(seconds)
        return f"answer of {name}"

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def call(self, name: str = "a.example.com") -> str:
        """Call a webhook that has a timeout of five seconds."""
        answer: str = await self._webhooks.post({}, REVIEW, 5.0, name)
        return answer


async def test_a_slow_webhook_answers_within_what_is_left_of_its_timeout() -> None:
    world = World({"webhook": "a.example.com"}, {"delaySeconds": 2.0})
    assert await world.call() == "answer of a.example.com"
    assert (world.slept, world.timeouts) == ([2.0], [3.0])


async def test_a_webhook_that_takes_longer_than_its_timeout_is_not_called() -> None:
    world = World({"webhook": "a.example.com"}, {"delaySeconds": 60.0})
    with pytest.raises(WebhookCallError, match="context deadline exceeded"):
        await world.call()
    assert (world.slept, world.timeouts) == ([5.0], [])


async def test_a_webhook_fails_with_the_error_of_a_fault() -> None:
    world = World({"webhook": "*"}, {"status": {"code": 503, "message": "no endpoints"}})
    with pytest.raises(WebhookCallError, match="no endpoints"):
        await world.call()


@pytest.mark.parametrize(
    ("match", "is_matched"),
    [
        pytest.param({"webhook": "a.example.com"}, True, id="name"),
        pytest.param({"webhook": "*"}, True, id="any"),
        pytest.param({"webhook": "b.example.com"}, False, id="another"),
        pytest.param({}, False, id="faults of requests are not of webhooks"),
        pytest.param({"webhook": "*", "user": "alice", "verbs": ["create"]}, True, id="the request under admission"),
        pytest.param({"webhook": "*", "user": "bob"}, False, id="the request of somebody else"),
        pytest.param({"webhook": "*", "resources": ["pods"]}, False, id="another resource"),
    ],
)
async def test_a_fault_matches_webhooks_by_name_and_request(match: dict[str, Any], *, is_matched: bool) -> None:
    world = World(match, {"delaySeconds": 1.0})
    await world.call()
    assert bool(world.slept) is is_matched


async def test_faults_of_webhooks_do_not_touch_requests_nor_conversions() -> None:
    world = World({"webhook": "*"}, {"delaySeconds": 1.0})
    assert world.faults.find_injection(FaultRequest("kube-apiserver", "kubectl", "create", "", "configmaps")) is None
    await world.call("")
    assert world.slept == []


async def test_calls_are_observed() -> None:
    world = World({"webhook": "b.example.com"}, {"delaySeconds": 1.0})
    seen: list[FaultRequest] = []
    world.faults.on_webhook = seen.append
    await world.call()
    assert [(one.webhook, one.user, one.verb, one.resource) for one in seen] == [
        ("a.example.com", "alice", "create", "configmaps")
    ]
