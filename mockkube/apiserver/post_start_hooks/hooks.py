"""All an API server does unasked, to be started and stopped as one."""

from collections.abc import Coroutine, Mapping
from typing import Any

from mockkube.apiserver.post_start_hooks.authentication_trust import AuthenticationTrust
from mockkube.apiserver.post_start_hooks.identity_lease import IdentityLease
from mockkube.apiserver.post_start_hooks.ip_addresses import IPAddresses
from mockkube.apiserver.post_start_hooks.legacy_tokens import LegacyTokens
from mockkube.apiserver.post_start_hooks.registrations import Registrations
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry.registry import Registry


class Chores:
    """What runs beside the answering of requests. `work` is run by whoever owns the tasks of the server."""

    def __init__(self, registry: Registry, authority: str, identity: str, trust: Mapping[str, str]) -> None:
        """`authority` is the PEM certificate that signs the API, or empty; without `identity` there is no lease."""
        data = {"client-ca-file": authority} if authority else {}
        self._trust = AuthenticationTrust(registry, {**data, **trust})
        self._lease = IdentityLease(registry, identity) if identity else None
        self._registrations = Registrations(registry)
        self._addresses = IPAddresses(registry)
        self.tokens = LegacyTokens(registry, authority)

    async def start(self) -> None:
        """Do what is to be done before the server answers, and follow what is stored."""
        await self._trust.start()
        await self._registrations.start()
        await self._addresses.start()
        self.tokens.start()

    @property
    def _rounds(self) -> tuple[Rounds[Any], ...]:
        addresses, tokens = self._addresses, self.tokens
        return (
            self._trust.rounds,
            self._registrations.rounds,
            addresses.services,
            addresses.orphans,
            tokens.secrets,
            tokens.references,
            tokens.uses,
        )

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Return what is to run until it is cancelled."""
        leasing = [] if self._lease is None else [self._lease.renewing(), self._lease.collecting()]
        return [*(rounds.run() for rounds in self._rounds), *leasing]

    @property
    def busy(self) -> bool:
        """Whether something that was stored is still to be acted upon."""
        return any(rounds.busy for rounds in self._rounds)

    def stop(self) -> None:
        """Follow no longer."""
        self._trust.stop()
        self._registrations.stop()
        self._addresses.stop()
        self.tokens.stop()
