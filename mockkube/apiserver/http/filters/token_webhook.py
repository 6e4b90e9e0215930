"""Authenticate bearer tokens by a webhook, which answers a TokenReview."""

# upstream 1.36: apiserver/plugin/pkg/authenticator/token/webhook/webhook.go
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import orjson
from cachetools import TTLCache

from mockkube.apiserver.identity.user import AuthenticatedUser, InvalidCredentials, User
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.client.kubeconfig import RestConfig

CACHED_TOKENS_MAX: Final = 4096
_SECONDS_MAX: Final = 30.0
_LOG: Final = logging.getLogger("mockkube.apiserver")


class TokenWebhook:
    """Client of one webhook; tokens that it accepts are cached for a while."""

    def __init__(self, config: "RestConfig", version: str, audiences: Sequence[str], ttl: float, clock: Clock) -> None:
        self._config = config
        self._version = version
        self._audiences = tuple(audiences)
        self._session: aiohttp.ClientSession | None = None
        # Made once: it reads the certificate authorities.
        self._tls = config.tls()
        self._accepted: TTLCache[tuple[str, tuple[str, ...]], AuthenticatedUser] = TTLCache(
            CACHED_TOKENS_MAX, ttl, timer=clock.monotonic
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> AuthenticatedUser:
        """Return the user of a token; raise InvalidCredentials if the webhook rejects it, or does not answer."""
        wanted = tuple(audiences) or self._audiences
        key = (token, wanted)
        if key not in self._accepted:
            self._accepted[key] = _parse_review(await self._post(token, wanted), wanted)
        return self._accepted[key]

    async def _post(self, token: str, audiences: tuple[str, ...]) -> Any:
        review = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._version}",
            "metadata": {"creationTimestamp": None},
            "spec": {"token": token, "audiences": list(audiences)},
            "status": {"user": {}},
        }
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = {"Content-Type": "application/json"}
        if self._config.token:
            headers["Authorization"] = f"Bearer {self._config.token}"
        try:
            async with self._session.post(
                self._config.server,
                data=orjson.dumps(review),
                headers=headers,
                ssl=self._tls or False,
                timeout=aiohttp.ClientTimeout(total=_SECONDS_MAX),
            ) as response:
                return orjson.loads(await response.read())
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            _LOG.error("Failed to make webhook authenticator request: %s", error)
            raise InvalidCredentials(str(error)) from error


def _parse_review(review: Any, wanted: tuple[str, ...]) -> AuthenticatedUser:
    status = (review.get("status") if isinstance(review, dict) else None) or {}
    if not status.get("authenticated"):
        raise InvalidCredentials(status.get("error") or "the webhook rejected the token")
    granted = tuple(status.get("audiences") or wanted)
    audiences = tuple(audience for audience in granted if audience in wanted)
    if not audiences:
        raise InvalidCredentials("the token is not valid for the requested audiences")
    user = status.get("user") or {}
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    found = User(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups") or ()), extra)
    return AuthenticatedUser(found, audiences)
