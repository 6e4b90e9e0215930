"""Type of the function that posts a review to a webhook, and the error it raises."""

from collections.abc import Awaitable, Callable
from typing import Any

from mockkube.api.json_objects import ReadOnlyObject

WebhookCall = Callable[[ReadOnlyObject, ReadOnlyObject, float, str], Awaitable[Any]]
"""Post a review (second) to the address of a `clientConfig` (first), with a timeout in seconds (third).

The fourth argument is the name of an admission webhook, empty for a conversion webhook.

Return the decoded JSON of the response. Raise WebhookCallError when there is none.
"""


class WebhookCallError(Exception):
    """Error of a webhook that could not be reached or answered with an error."""


async def refuse_webhook_call(client: ReadOnlyObject, review: ReadOnlyObject, seconds: float, name: str) -> Any:
    """Raise WebhookCallError: the default of servers without an HTTP client."""
    raise WebhookCallError("this server calls no webhooks")
