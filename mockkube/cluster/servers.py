"""What a cluster asks of an API server, what it gives one, and how one is built."""

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
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import LoopBoard

if TYPE_CHECKING:
    from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
    from mockkube.apiserver.registry.registry import Registry
    from mockkube.apiserver.server import ApiServer


class Server(Registrar, Protocol):
    """What a cluster asks of an API server."""

    @property
    def handler(self) -> Handler:
        """Answers requests between `start` and `stop`."""
        ...

    async def start(self) -> None:
        """Bring the store to what a new cluster contains, and begin to serve from it."""
        ...

    @property
    def whole(self) -> "ApiServer | None":
        """The server itself, for those in its process who speak to it without HTTP; None if they cannot."""
        ...

    def end_watches(self) -> None:
        """Let every watch come to a clean end, and those that still open."""
        ...

    async def stop(self) -> None:
        """End watches and whatever else runs, also after a `start` that failed; requests in hand get a clean end."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server is built with."""

    store: Store
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock
    chance: Chance
    settings: Settings
    beside: "Registry"
    """The control API."""
    accounts: "TokenIssuer"
    """The issuer of tokens of this cluster, so that they outlive a server's restart."""
    runs: Callable[[str], bool] = lambda component: False
    """Whether another component runs, by its name."""
    board: LoopBoard | None = None
    """Where it shows which objects it cannot read."""


def build_api_server(surroundings: Surroundings) -> Server:
    """Return the API server of these settings, not started."""
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
    """Return of whom a server keeps a lease; empty in virtual time, in which nothing is to happen unasked."""
    if surroundings.configuration.clock != REAL:
        return ""
    import socket

    replica = surroundings.settings.component.partition(".")[2]
    return f"{socket.gethostname()}/{replica}" if replica else socket.gethostname()
