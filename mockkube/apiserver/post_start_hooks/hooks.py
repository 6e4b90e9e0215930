"""All post-start hooks of one API server, started and stopped together."""

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
    """Post-start hooks of one server. The owner of the server's tasks runs the coroutines of `workers`."""

    def __init__(self, registry: Registry, authority: str, identity: str, trust: Mapping[str, str]) -> None:
        """Build the hooks; `authority` is the PEM certificate that signs the API, or empty. No `identity`, no lease."""
        data = {"client-ca-file": authority} if authority else {}
        self._trust = AuthenticationTrust(registry, {**data, **trust})
        self._lease = IdentityLease(registry, identity) if identity else None
        self._registrations = Registrations(registry)
        self._addresses = IPAddresses(registry)
        self.tokens = LegacyTokens(registry, authority)

    async def start(self) -> None:
        """Do what must precede the first response, and follow the stored objects."""
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
        """Return coroutines that run until they are cancelled."""
        leasing = [] if self._lease is None else [self._lease.renewing(), self._lease.collecting()]
        return [*(rounds.run() for rounds in self._rounds), *leasing]

    @property
    def busy(self) -> bool:
        """True if a stored change is still to be processed."""
        return any(rounds.busy for rounds in self._rounds)

    def stop(self) -> None:
        """Stop following stored objects."""
        self._trust.stop()
        self._registrations.stop()
        self._addresses.stop()
        self.tokens.stop()
