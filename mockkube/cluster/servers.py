"""Interface of an API server to its cluster, and the function that builds one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mockkube_storage.store import Store

from mockkube.cluster.components import Settings
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.credentials import Credentials, authenticator_of
from mockkube.cluster.errors import ConfigurationError
from mockkube.cluster.flags import flags_of
from mockkube.cluster.listener import Handler
from mockkube.cluster.nodes import Registrar
from mockkube.cluster.readings import REAL
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import HotLoops

if TYPE_CHECKING:
    from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
    from mockkube.apiserver.registry.registry import Registry
    from mockkube.apiserver.server import ApiServer


class Server(Registrar, Protocol):
    """An API server as its cluster uses it."""

    @property
    def handler(self) -> Handler:
        """Handler of HTTP requests between `start` and `stop`."""
        ...

    async def start(self) -> None:
        """Write the objects that every cluster has to the store, and begin to serve."""
        ...

    @property
    def whole(self) -> "ApiServer | None":
        """The server object for clients in the process; None if the server runs elsewhere."""
        ...

    def end_watches(self) -> None:
        """End all open watches cleanly, and those that are opened later."""
        ...

    async def stop(self) -> None:
        """End watches and all tasks, also after a `start` that failed."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Dependencies of an API server."""

    store: Store
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock
    chance: Random
    settings: Settings
    # Registry of the control API, which every API server serves, too.
    beside: "Registry"
    # Issuer of service account tokens, shared so that tokens outlive a server's restart.
    accounts: "TokenIssuer"
    # Whether another component runs, by name; for component statuses.
    runs: Callable[[str], bool] = lambda component: False
    # Where the server reports objects that it cannot read.
    board: HotLoops | None = None


def build_api_server(surroundings: Surroundings) -> Server:
    """Return an API server with these dependencies, not started."""
    from mockkube.apiserver.admission.catalogue import flag_errors
    from mockkube.apiserver.aggregation.transport import FrontProxy
    from mockkube.apiserver.server import ApiServer, ApiServerOptions

    configuration, certificates = surroundings.configuration, surroundings.credentials.certificates
    enable, disable = configuration.enable_admission_plugins, configuration.disable_admission_plugins
    if errors := flag_errors(enable, disable):
        raise ConfigurationError(f"--{'; --'.join(errors)}")
    options = ApiServerOptions(
        authenticator=authenticator_of(configuration, surroundings.credentials.token),
        caps=surroundings.settings.capabilities(),
        gates=tuple(surroundings.settings.states()),
        flags=flags_of(configuration, surroundings.settings),
        trains=surroundings.settings.trains,
        enable_admission=enable,
        disable_admission=disable,
        certificate_authority="" if certificates is None else certificates.authority.read_text(),
        front_proxy=None if certificates is None else FrontProxy(*certificates.of_front_proxy()),
        beside=surroundings.beside,
        accounts=surroundings.accounts,
        runs=surroundings.runs,
        board=surroundings.board,
        identity=_identity(surroundings),
    )
    return ApiServer(store=surroundings.store, options=options, clock=surroundings.clock, chance=surroundings.chance)


def _identity(surroundings: Surroundings) -> str:
    """Return the holder identity of the server's lease; empty in virtual time, where renewals would never rest."""
    if surroundings.configuration.clock != REAL:
        return ""
    import socket

    replica = surroundings.settings.component.partition(".")[2]
    return f"{socket.gethostname()}/{replica}" if replica else socket.gethostname()
