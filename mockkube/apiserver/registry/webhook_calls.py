"""Calling a webhook: what the plugins ask of whoever makes the call."""

from collections.abc import Awaitable, Callable
from typing import Any

from mockkube.api.types import ReadOnlyObject

Call = Callable[[ReadOnlyObject, ReadOnlyObject, float], Awaitable[Any]]
"""Posts a review (second) to where a `clientConfig` (first) says, within seconds (third).

It returns the JSON of the answer, and raises CallFailed when there is none.
"""


class CallFailed(Exception):
    """The webhook could not be asked, or did not answer as it should; the text says why."""


async def nobody(client: ReadOnlyObject, review: ReadOnlyObject, seconds: float) -> Any:
    """Fail: this server calls nobody."""
    raise CallFailed("this server calls no webhooks")
