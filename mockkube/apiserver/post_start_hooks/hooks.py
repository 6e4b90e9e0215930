"""All post-start hooks of one API server, started and stopped together."""

from collections.abc import Coroutine, Iterable
from typing import Any

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions
from mockkube.apiserver.post_start_hooks.api_service_registration import ApiServiceRegistration
from mockkube.apiserver.post_start_hooks.authentication_trust import AuthenticationTrustController
from mockkube.apiserver.post_start_hooks.identity_lease import IdentityLease
from mockkube.apiserver.post_start_hooks.ip_addresses import IPAddressController
from mockkube.apiserver.post_start_hooks.legacy_tokens import LegacyTokenController
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry.registry import Registry


class PostStartHooks:
    """Post-start hooks of one server. The owner of the server's tasks runs `coroutines`."""

    def __init__(
        self,
        registry: Registry,
        authority: str,
        identity: str,
        request_header: RequestHeaderOptions | None,
        computed_apis: Iterable[ReadOnlyObject] = (),
    ) -> None:
        """Build the hooks; `authority` is the PEM certificate that signs the API, or empty. No `identity`, no lease.

        `computed_apis` are the specs of the APIServices of computed APIs.
        """
        self._trust = AuthenticationTrustController(registry, authority, request_header)
        self._lease = IdentityLease(registry, identity) if identity else None
        self._api_services = ApiServiceRegistration(registry, computed_apis)
        self._ip_addresses = IPAddressController(registry)
        self.legacy_tokens = LegacyTokenController(registry, authority)

    async def start(self) -> None:
        """Do what must precede the first response, and follow the stored objects."""
        await self._trust.start()
        await self._api_services.start()
        await self._ip_addresses.start()
        self.legacy_tokens.start()

    @property
    def _queues(self) -> tuple[RetryQueue[Any], ...]:
        addresses, tokens = self._ip_addresses, self.legacy_tokens
        return (
            self._trust.queue,
            self._api_services.queue,
            addresses.service_queue,
            addresses.address_queue,
            tokens.secret_queue,
            tokens.reference_queue,
            tokens.use_queue,
        )

    def coroutines(self) -> list[Coroutine[Any, Any, None]]:
        """Return coroutines that run until they are cancelled."""
        leasing = [] if self._lease is None else [self._lease.run_renewal(), self._lease.run_garbage_collection()]
        return [*(queue.run() for queue in self._queues), *leasing]

    @property
    def is_busy(self) -> bool:
        """True if a stored change is still to be processed."""
        return any(queue.is_busy for queue in self._queues)

    def stop(self) -> None:
        """Stop following stored objects."""
        self._trust.stop()
        self._api_services.stop()
        self._ip_addresses.stop()
        self.legacy_tokens.stop()
