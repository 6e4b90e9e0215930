"""Credentials of a cluster: token and certificates, kept in its state directory, and the authenticator for them."""

import ssl
from typing import TYPE_CHECKING, Self

from mockkube_storage.store import Store

from mockkube.cluster.api_servers.tcp_listener import make_tls_context
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.certificates import (
    ADMIN,
    MASTERS,
    Certificates,
    ensure_certificates,
    install_authorities,
    load_or_create_authorities,
)
from mockkube.cluster.state.server_names import find_certificate_names
from mockkube.cluster.state.state_directory import StateDirectory, make_unwritable_error
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.http.filters.authentication import Authenticator
    from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
    from mockkube.cluster.state.certificate_process import CreatedCertificates


@dataclass(frozen=True, slots=True)
class Credentials:
    """Token of the administrator and certificates of the cluster."""

    token: str
    certificates: Certificates | None
    # Key in PEM that signs tokens of service accounts; empty: each process has a new one.
    signing_key: str = ""

    @classmethod
    def load_or_create(
        cls,
        configuration: ClusterConfiguration,
        directory: StateDirectory,
        *,
        clock: Clock,
        random: Random,
        created: "CreatedCertificates | None" = None,
    ) -> Self:
        """Load the credentials from the state directory; create missing ones, or take the certificates created."""
        try:
            token = configuration.token or directory.load_token()
            if token is None:
                token = random.new_token()
                write_atomically(directory.token, token + "\n", durable=directory.durable)
            return cls(token, _ensure_certificates(configuration, directory, clock, created))
        except OSError as error:
            raise make_unwritable_error(directory.path, error) from None

    @classmethod
    async def join(
        cls,
        configuration: ClusterConfiguration,
        directory: StateDirectory,
        store: Store,
        *,
        clock: Clock,
        random: Random,
    ) -> Self:
        """Return the credentials of the control plane that uses the store; those of the directory if it is new.

        They replace those of the directory, unless the control plane cannot be joined, which raises StartError.
        """
        from mockkube.apiserver.identity.signing_keys import SigningKey
        from mockkube.cluster.replication.shared_credentials import ClusterKey, SharedCredentials

        try:
            given = configuration.cluster_key
            key = (
                ClusterKey.load_or_create(directory.shared_cluster_key, random) if given is None else ClusterKey(given)
            )
            own = SharedCredentials(
                load_or_create_authorities(directory.certificates, now=clock.now()),
                configuration.token or directory.load_token() or random.new_token(),
                SigningKey.generate().to_pem().decode(),
            )
            shared = await own.share(store, configuration.cluster_id, key)
            if configuration.token not in (None, shared.token):
                raise StartError("--token: the control plane in the database has another one: leave it out")
            install_authorities(directory.certificates, shared.authorities)
            write_atomically(directory.token, shared.token + "\n", durable=directory.durable)
            return cls(shared.token, _ensure_certificates(configuration, directory, clock), shared.signing_key)
        except OSError as error:
            raise make_unwritable_error(directory.path, error) from None

    def make_token_issuer(self) -> "TokenIssuer":
        """Return the issuer of service account tokens."""
        from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
        from mockkube.apiserver.identity.signing_keys import SigningKey

        pem = self.signing_key.encode()
        return TokenIssuer(load_signing_key=lambda: SigningKey.from_pem(pem)) if pem else TokenIssuer()

    def make_tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the server, None for plain HTTP."""
        files = self.certificates
        return None if files is None else make_tls_context(files.serving, files.serving_key, [files.authority])


def _ensure_certificates(
    configuration: ClusterConfiguration,
    directory: StateDirectory,
    clock: Clock,
    created: "CreatedCertificates | None" = None,
) -> Certificates | None:
    if not configuration.tls:
        return None
    names = find_certificate_names(configuration) if created is None else created.names
    return ensure_certificates(
        directory.certificates,
        names,
        now=clock.now(),
        durable=directory.durable,
        created=None if created is None else created.files,
    )


def make_authenticator(configuration: ClusterConfiguration, token: str) -> "Authenticator":
    """Return the authenticator; without TLS and without a configured token, every client is the administrator."""
    from mockkube.apiserver.http.filters.authentication import Authenticator
    from mockkube.apiserver.identity.user import ANONYMOUS_USER, UNSECURED_USER, User

    # kubectl sends no credentials over plain HTTP, so only a token that the user configured can be required there
    open_to_all = not configuration.tls and configuration.token is None
    admin = User(ADMIN, groups=(MASTERS,))
    return Authenticator({token: admin}, anonymous=UNSECURED_USER if open_to_all else ANONYMOUS_USER)
