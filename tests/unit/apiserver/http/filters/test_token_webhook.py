"""Whom the token webhook names, what is cached, and what is asked again."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.filters.token_webhook import TRIES_MAX, TokenWebhook
from mockkube.apiserver.identity.user import InvalidCredentials, User
from mockkube.client.kubeconfig import RestConfig

API = ("https://kubernetes.default.svc",)
JANE = {"authenticated": True, "user": {"username": "jane", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}}


class SteppedClock:
    """A clock that sleeps in no time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class Reviewer:
    """The webhook: answers with `status`, or with the HTTP statuses of `failures` before."""

    def __init__(self) -> None:
        self.reviews: list[Mapping[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.failures: list[int] = []
        self.status: Mapping[str, Any] = JANE

    async def answer(self, request: web.Request) -> web.Response:
        self.reviews.append(await request.json())
        self.headers.append(request.headers)
        if self.failures:
            return web.Response(status=self.failures.pop(0), text="broken")
        return web.json_response({**self.reviews[-1], "status": self.status})


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def url(reviewer: Reviewer) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/review", reviewer.answer)
    async with TestServer(application) as server:
        yield str(server.make_url("/review"))


@pytest.fixture
async def webhook(url: str, clock: SteppedClock) -> AsyncIterator[TokenWebhook]:
    made = TokenWebhook(RestConfig(url, token="mine"), "v1", API, 120, clock)
    yield made
    await made.close()


async def test_the_webhook_is_sent_a_review_and_names_the_user(webhook: TokenWebhook, reviewer: Reviewer) -> None:
    found = await webhook.authenticate_token("secret", API)
    assert found is not None
    assert (found.user, found.audiences) == (User("jane", "u", ("g",), {"k": ("v",)}), API)
    review, headers = reviewer.reviews[0], reviewer.headers[0]
    assert (review["kind"], review["apiVersion"]) == ("TokenReview", "authentication.k8s.io/v1")
    assert review["spec"] == {"token": "secret", "audiences": [*API]}
    assert headers["Authorization"] == "Bearer mine"


@pytest.mark.parametrize(
    ("wanted", "granted", "found"),
    [
        pytest.param(API, (), API, id="a webhook without audiences accepts for the API"),
        pytest.param(("vault",), (), None, id="and for nothing else"),
        pytest.param(("vault", *API), ("vault", "more"), ("vault",), id="else those that it names"),
        pytest.param(API, ("vault",), None, id="none of those that are wanted"),
    ],
)
async def test_audiences(
    webhook: TokenWebhook, reviewer: Reviewer, wanted: tuple[str, ...], granted: tuple[str, ...], found: Any
) -> None:
    reviewer.status = {**JANE, "audiences": list(granted)}
    user = await webhook.authenticate_token("secret", wanted)
    assert (None if user is None else user.audiences) == found


async def test_answers_are_cached_and_errors_are_not(
    webhook: TokenWebhook, reviewer: Reviewer, clock: SteppedClock
) -> None:
    for _ in range(2):
        assert await webhook.authenticate_token("good", API)
    reviewer.status = {}
    for _ in range(2):
        assert await webhook.authenticate_token("unknown", API) is None
        assert await webhook.authenticate_token("good", API)
    assert len(reviewer.reviews) == 2
    clock.seconds += 121
    assert await webhook.authenticate_token("good", API) is None
    assert await webhook.authenticate_token("unknown", API) is None
    assert len(reviewer.reviews) == 4
    reviewer.status = {"error": "revoked"}
    for _ in range(2):
        with pytest.raises(InvalidCredentials, match=r"^revoked$"):
            await webhook.authenticate_token("bad", API)
    assert len(reviewer.reviews) == 6


async def test_without_a_cache_only_accepted_tokens_are_kept_for_ten_seconds(
    url: str, reviewer: Reviewer, clock: SteppedClock
) -> None:
    webhook = TokenWebhook(RestConfig(url), "v1", API, 0, clock)
    for _ in range(2):
        assert await webhook.authenticate_token("good", API)
    clock.seconds += 11
    reviewer.status = {}
    for _ in range(2):
        assert await webhook.authenticate_token("good", API) is None
    assert len(reviewer.reviews) == 3
    await webhook.close()


@pytest.mark.parametrize("code", [429, 500, 504])
async def test_requests_that_fail_for_the_moment_are_repeated(
    webhook: TokenWebhook, reviewer: Reviewer, clock: SteppedClock, code: int
) -> None:
    reviewer.failures = [code] * (TRIES_MAX - 1)
    assert await webhook.authenticate_token("secret", API)
    assert clock.slept == [0.5, 0.75, 1.125, 1.6875]
    reviewer.failures = [code] * TRIES_MAX
    with pytest.raises(InvalidCredentials, match=f"status code {code}: broken"):
        await webhook.authenticate_token("other", API)


async def test_other_failures_are_not_repeated(webhook: TokenWebhook, reviewer: Reviewer, clock: SteppedClock) -> None:
    reviewer.failures = [403]
    with pytest.raises(InvalidCredentials, match="status code 403: broken"):
        await webhook.authenticate_token("secret", API)
    assert (len(reviewer.reviews), clock.slept) == (1, [])


async def test_a_webhook_that_cannot_be_reached(clock: SteppedClock) -> None:
    url = "http://127.0.0.1:1/"
    webhook = TokenWebhook(RestConfig(url), "v1", API, 0, clock)
    with pytest.raises(InvalidCredentials, match=f'^Post "{url}": '):
        await webhook.authenticate_token("secret", API)
    await webhook.close()


async def test_a_review_asks_the_webhook_about_unknown_tokens_only(webhook: TokenWebhook, reviewer: Reviewer) -> None:
    authenticator = Authenticator({"known": User("joe")}, webhook=webhook)
    assert (await authenticator.review_token("known")).user.name == "joe"
    assert reviewer.reviews == []
    reviewed = await authenticator.review_token("secret")
    assert (reviewed.user.name, reviewed.user.groups) == ("jane", ("g", "system:authenticated"))
    reviewer.status = {}
    with pytest.raises(InvalidCredentials, match=r"^invalid bearer token$"):
        await authenticator.review_token("unknown")
    reviewer.status = {"error": "revoked"}
    with pytest.raises(InvalidCredentials, match=r"^\[invalid bearer token, revoked\]$"):
        await authenticator.review_token("revoked")
