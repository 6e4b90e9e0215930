"""Credentials of a cluster: token and certificates, kept in its state directory, and the authenticator for them."""

import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from mockkube.cluster.api_servers.tcp_listener import make_tls_context
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.certificates import ADMIN, MASTERS, Certificates, ensure_certificates
from mockkube.cluster.state.state_directory import StateDirectory, make_unwritable_error
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.http.filters.authentication import Authenticator


@dataclass(frozen=True, slots=True)
class Credentials:
    """Token of the administrator and certificates of the cluster."""

    token: str
    certificates: Certificates | None

    @classmethod
    def load_or_create(
        cls, configuration: ClusterConfiguration, directory: StateDirectory, *, clock: Clock, random: Random
    ) -> Self:
        """Load the credentials from the state directory; create missing ones."""
        try:
            token = configuration.token or directory.load_token()
            if token is None:
                token = random.new_token()
                write_atomically(directory.token, token + "\n", durable=directory.durable)
            if not configuration.tls:
                return cls(token, None)
            names = find_machine_names(configuration.bind)
            return cls(token, ensure_certificates(directory.certificates, names, now=clock.now()))
        except OSError as error:
            raise make_unwritable_error(directory.path, error) from None

    def make_tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the server, None for plain HTTP."""
        files = self.certificates
        return None if files is None else make_tls_context(files.serving, files.serving_key, [files.authority])


def make_authenticator(configuration: ClusterConfiguration, token: str) -> "Authenticator":
    """Return the authenticator; without TLS and without a configured token, every client is the administrator."""
    from mockkube.apiserver.http.filters.authentication import Authenticator
    from mockkube.apiserver.identity.user import ANONYMOUS_USER, UNSECURED_USER, User

    # kubectl sends no credentials over plain HTTP, so only a token that the user configured can be required there
    open_to_all = not configuration.tls and configuration.token is None
    admin = User(ADMIN, groups=(MASTERS,))
    return Authenticator({token: admin}, anonymous=UNSECURED_USER if open_to_all else ANONYMOUS_USER)


def find_machine_names(bind_address: str) -> list[str]:
    """Return further names for the serving certificate: the address, or on a wildcard the host's name and addresses."""
    if bind_address not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return [bind_address]
    import socket

    name = socket.gethostname()
    with suppress(OSError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return [name, *sorted({str(address[4][0]).partition("%")[0] for address in found})]
    return [name]
