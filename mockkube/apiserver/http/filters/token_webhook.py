"""Authenticate bearer tokens by a webhook, which answers a TokenReview."""

# upstream 1.36: apiserver/plugin/pkg/authenticator/token/webhook/webhook.go
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import aiohttp
import orjson
from cachetools import TTLCache

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.identity.user import AuthenticatedUser, InvalidCredentials, User
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.client.kubeconfig import RestConfig

CACHED_TOKENS_MAX: Final = 4096
# upstream 1.36: pkg/kubeapiserver/options/authentication.go: every token that was accepted is cached for this long
ACCEPTED_SECONDS_MIN: Final = 10.0
TRIES_MAX: Final = 5
_SECONDS_MAX: Final = 30.0
_RETRY_SECONDS: Final = 0.5
_RETRY_FACTOR: Final = 1.5
_SHOWN_BYTES_MAX: Final = 200
_RETRIED_STATUSES: Final = frozenset({429, 500, 504})
_LOG: Final = logging.getLogger("mockkube.apiserver")


_CacheKey: TypeAlias = tuple[str, tuple[str, ...]]


class _TransientError(InvalidCredentials):
    """Error of a request that may succeed when it is repeated."""


class TokenWebhook:
    """Client of one webhook; its answers are cached for a while, its failures are not."""

    def __init__(self, config: "RestConfig", version: str, audiences: Sequence[str], ttl: float, clock: Clock) -> None:
        """Cache answers for `ttl` seconds; `audiences` are those of the API."""
        self._config = config
        self._version = version
        self._audiences = tuple(audiences)
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        # Made once: it reads the certificate authorities.
        self._tls = config.tls()
        self._accepted: TTLCache[_CacheKey, AuthenticatedUser] = TTLCache(
            CACHED_TOKENS_MAX, max(ttl, ACCEPTED_SECONDS_MIN), timer=clock.monotonic
        )
        self._rejected: TTLCache[_CacheKey, None] = TTLCache(CACHED_TOKENS_MAX, ttl, timer=clock.monotonic)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatedUser | None:
        """Return the user of a token; None if the webhook does not know it.

        Raise InvalidCredentials with the error that the webhook reports, or if it does not answer.
        """
        key = (token, tuple(audiences))
        if (known := self._accepted.get(key)) is not None:
            return known
        if key in self._rejected:
            return None
        user = self._parse_review(await self._review(*key), key[1])
        if user is None:
            self._rejected[key] = None
        else:
            self._accepted[key] = user
        return user

    async def _review(self, token: str, audiences: tuple[str, ...]) -> ReadOnlyObject:
        """Return the status of the webhook's response; repeat a request that fails for the moment."""
        # upstream 1.36: apiserver/pkg/util/webhook/webhook.go, DefaultShouldRetry
        delay = _RETRY_SECONDS
        for attempt in range(1, TRIES_MAX + 1):
            try:
                return await self._post(token, audiences)
            except _TransientError as error:
                if attempt == TRIES_MAX:
                    _LOG.error("Failed to make webhook authenticator request: %s", error)
                    raise
            except InvalidCredentials as error:
                _LOG.error("Failed to make webhook authenticator request: %s", error)
                raise
            await self._clock.sleep(delay)
            delay *= _RETRY_FACTOR
        raise AssertionError("the last attempt returns or raises")

    async def _post(self, token: str, audiences: tuple[str, ...]) -> ReadOnlyObject:
        review = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._version}",
            "metadata": {"creationTimestamp": None},
            "spec": {"token": token, "audiences": list(audiences)},
            "status": {"user": {}},
        }
        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with self._session.post(
                self._config.server,
                data=orjson.dumps(review),
                headers={"Content-Type": "application/json", **self._config.headers},
                ssl=self._tls or False,
                timeout=aiohttp.ClientTimeout(total=_SECONDS_MAX),
            ) as response:
                body = await response.read()
        except (ConnectionResetError, aiohttp.ServerDisconnectedError) as error:
            raise _TransientError(f'Post "{self._config.server}": {error}') from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise InvalidCredentials(f'Post "{self._config.server}": {error}') from error
        return _parse_response(response.status, body)

    def _parse_review(self, status: ReadOnlyObject, wanted: tuple[str, ...]) -> AuthenticatedUser | None:
        # A webhook that says nothing of audiences accepts a token for the API.
        granted = status.get("audiences") or self._audiences
        audiences = tuple(audience for audience in wanted if audience in granted)
        if not audiences:
            return None
        if not status.get("authenticated"):
            if status.get("error"):
                raise InvalidCredentials(status["error"])
            return None
        user = status.get("user") or {}
        extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
        found = User(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups") or ()), extra)
        return AuthenticatedUser(found, audiences)


def _parse_response(code: int, body: bytes) -> ReadOnlyObject:
    """Return the status of the TokenReview in a response; raise InvalidCredentials if it is none."""
    if not _is_success(code):
        error = f"the server responded with the status code {code}: {body[:_SHOWN_BYTES_MAX].decode(errors='replace')}"
        raise (_TransientError if code in _RETRIED_STATUSES else InvalidCredentials)(error)
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidCredentials(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(review, dict):
        raise InvalidCredentials("couldn't get version/kind; json parse error: it is not an object")
    status: ReadOnlyObject = review.get("status") or {}
    return status


def _is_success(code: int) -> bool:
    return 200 <= code <= 206
