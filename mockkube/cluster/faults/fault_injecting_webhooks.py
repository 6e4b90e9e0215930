"""Calls of admission webhooks with the faults of the cluster: slow answers, answers that come too late, errors."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.registry.webhook_calls import WebhookCall, WebhookCallError
from mockkube.cluster.faults.faults import FaultInjection, FaultRequest, Faults

_VERBS: Final = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete", "CONNECT": "create"}


class FaultInjectingWebhooks:
    """Calls the webhooks of one API server; conversion webhooks have no faults."""

    def __init__(
        self, server: str, call: WebhookCall, faults: Faults, *, pause_step: Callable[[float], Awaitable[None]]
    ) -> None:
        self._server, self._call, self._faults, self._pause_step = server, call, faults, pause_step

    async def post(self, client: ReadOnlyObject, review: ReadOnlyObject, seconds: float, name: str = "") -> Any:
        """Return the response to a review; raise WebhookCallError if there is none, or if a fault says so."""
        observes = self._faults.on_webhook is not None
        if not name or not (self._faults or observes):
            return await self._call(client, review, seconds, name)
        request = self._describe_request(name, review["request"])
        if self._faults.on_webhook is not None:
            self._faults.on_webhook(request)
        injection = self._faults.find_injection(request)
        if injection is None:
            return await self._call(client, review, seconds, name)
        remaining = await self._delay(injection, name, seconds)
        if (error := injection.make_error()) is not None:
            raise WebhookCallError(f'an error on the server ("{error}") has prevented the request from succeeding')
        return await self._call(client, review, remaining, name)

    async def _delay(self, injection: FaultInjection, name: str, seconds: float) -> float:
        """Wait as long as the fault says; return the time that is left until the timeout."""
        await self._pause_step(min(injection.delay_seconds, seconds))
        if injection.delay_seconds >= seconds:
            raise WebhookCallError(f'Post "{name}?timeout={seconds:g}s": context deadline exceeded')
        return seconds - injection.delay_seconds

    def _describe_request(self, name: str, review: ReadOnlyObject) -> FaultRequest:
        """Return the request under admission as faults match it."""
        resource = review.get("resource") or {}
        return FaultRequest(
            server=self._server,
            user_agent="",
            verb=_VERBS.get(review.get("operation", ""), ""),
            group=resource.get("group", ""),
            resource=resource.get("resource", ""),
            subresource=review.get("subResource", ""),
            namespace=review.get("namespace", ""),
            name=review.get("name", ""),
            user=(review.get("userInfo") or {}).get("username", ""),
            webhook=name,
        )
