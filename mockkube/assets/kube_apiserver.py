"""The kube-apiserver executable: an API server with the flags of the real one, on the store of an `etcd`.

With controllers or nodes, which `mockkube assets` was asked for, scheduler, controller manager and kubelets run beside
it in the same process.
"""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import StoreError, Unavailable
from mockkube_storage.store import Store

from mockkube.assets.command_line import CommandLineError, format_flags
from mockkube.assets.file_checks import check_files
from mockkube.assets.klog import start_logging
from mockkube.assets.kube_apiserver_options import (
    PROGRAM,
    SHORTHANDS,
    KubeApiserverOptions,
    OptionsError,
    load_flags,
)
from mockkube.assets.option_validation import validate_options
from mockkube.assets.parent_process import follows_parent, wait_for_parent_exit
from mockkube.assets.settings import AssetSettings
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.features.errors import quote
from mockkube.features.versions import Version, binary_version
from mockkube.runtime.clock import RealClock

if TYPE_CHECKING:
    from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
    from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration

_LOG: Final = logging.getLogger(PROGRAM)
_STORE_SCHEME: Final = "mockkube-store://"
_CERTIFICATE_NAME: Final = "apiserver"
_STORE_RETRY_SECONDS: Final = 0.1
_SUMMARY: Final = "A Kubernetes API server for tests: mockkube in the place of kube-apiserver."


def main(arguments: Sequence[str], settings: AssetSettings) -> int:
    """Run the executable; return its exit code."""
    try:
        options = KubeApiserverOptions.parse(arguments, settings.version)
    except CommandLineError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    if options.values["help"]:
        print(render_help())
        return 0
    if options.values["version"] in (True, "raw"):
        print(render_version(settings.version))
        return 0
    for deprecation in options.deprecations:
        print(deprecation, file=sys.stderr)
    start_logging(options.values["v"])
    try:
        validate_options(options)
        check_files(options)
        _run(options, settings)
    except (OptionsError, ConfigurationError, StartError, StoreError, ssl.SSLError) as error:
        _LOG.error('"command failed" err=%s', quote(str(error)))
        return 1
    return 0


def render_help() -> str:
    """Return the text of `--help`."""
    usage = f"Usage:\n  {PROGRAM} [flags]\n\nFlags:\n"
    return f"{_SUMMARY}\n\n{usage}{format_flags(load_flags(), SHORTHANDS)}"


def render_version(version: Version) -> str:
    """Return the text of `--version`, which kwokctl parses."""
    return f"Kubernetes v{binary_version(version)}"


def _run(options: KubeApiserverOptions, settings: AssetSettings) -> None:
    from mockkube.cluster.foreground import run_until_signal

    run_until_signal(lambda: _serve(options, settings), lambda url: _LOG.info('"Serving securely on %s"', url))


@asynccontextmanager
async def _serve(options: KubeApiserverOptions, settings: AssetSettings) -> AsyncIterator[str]:
    """Run the API server, and components if the settings ask for them."""
    from mockkube.cluster.api_servers.tcp_listener import bind, get_url

    async with AsyncExitStack() as stack:
        # Before everything that takes time: a client that connects now waits until the server answers, while one that
        # is refused tries again only later.
        listening = bind(options.bind_address, options.port)
        stack.callback(listening.close)
        if follows_parent():
            stack.callback(asyncio.get_running_loop().create_task(_stop_with_parent(), name="parent").cancel)
        store = await _open_store(options, stack)
        tls = _make_tls_context(options)
        server = _AssetServer(options, settings)
        await server.start(stack, listening, store, tls)
        yield get_url(listening, tls=True)


class _AssetServer:
    """Control plane of the executable."""

    def __init__(self, options: KubeApiserverOptions, settings: AssetSettings) -> None:
        self._options = options
        self._settings = settings

    async def start(self, stack: AsyncExitStack, listening: socket.socket, store: Store, tls: ssl.SSLContext) -> None:
        """Start what the settings ask for; leaving the stack stops it."""
        from mockkube_storage.engines.memory import MemoryStore

        from mockkube.cluster.api_servers.credentials import Credentials
        from mockkube.cluster.api_servers.listeners import ListenerFactory
        from mockkube.cluster.control_plane import ControlPlane, ControlPlaneDependencies
        from mockkube.cluster.snapshots.snapshot_store import MemorySnapshotStore
        from mockkube.runtime.random import Random

        options, clock, random = self._options, RealClock(), Random()
        configuration = make_configuration(options, self._settings)
        control_store = await stack.enter_async_context(MemoryStore())
        # Only the components in this process have this token, and they call the server without HTTP.
        credentials = Credentials(random.new_token(), None)
        dependencies = ControlPlaneDependencies(
            store, control_store, MemorySnapshotStore(), configuration, credentials, clock, random
        )
        control_plane = ControlPlane(
            dependencies,
            self._build_api_server,
            lambda faults: (
                ListenerFactory(
                    listening,
                    options.bind_address,
                    lambda: tls,
                    faults,
                    clock,
                    clock,
                    http2=not options.values["disable-http2-serving"],
                ).make_listener
            ),
        )
        await control_plane.start(stack)
        await control_plane.start_api_server()
        await control_plane.run(stack)

    def _build_api_server(self, dependencies: "ApiServerDependencies") -> "Server":
        from mockkube.apiserver.server import ApiServer
        from mockkube.assets.api_server_options import make_server_options
        from mockkube.cluster.api_servers.api_server import make_options

        options = make_server_options(
            self._options,
            make_options(dependencies),
            # Without components, a test expects the API of kube-apiserver and nothing besides.
            with_control_resources=self._settings.runs_components,
        )
        return ApiServer(
            store=dependencies.store, options=options, clock=dependencies.clock, random=dependencies.random
        )


def make_configuration(options: KubeApiserverOptions, settings: AssetSettings) -> "ClusterConfiguration":
    """Return the configuration of the cluster that the executable runs."""
    from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
    from mockkube.cluster.configuration.values import ComponentConfiguration
    from mockkube.features.components import API_SERVER

    gates = options.effective_flags.gates.overrides
    return ClusterConfiguration(
        bind=options.bind_address,
        port=options.port,
        version=options.version,
        components={API_SERVER: ComponentConfiguration(options.version, dict(gates))},
        without=() if settings.runs_components else ("scheduler", "controllers", "kubelets"),
        nodes=settings.nodes,
        enable_admission_plugins=options.enabled_admission_plugins,
        disable_admission_plugins=options.disabled_admission_plugins,
    )


def _make_tls_context(options: KubeApiserverOptions) -> ssl.SSLContext:
    from mockkube.cluster.api_servers.tcp_listener import make_tls_context

    values = options.values
    certificate, key = values["tls-cert-file"], values["tls-private-key-file"]
    if not (certificate and key):
        directory = Path(values["cert-dir"])
        certificate, key = (directory / f"{_CERTIFICATE_NAME}{suffix}" for suffix in (".crt", ".key"))
        if not (certificate.exists() and key.exists()):
            _create_serving_certificate(directory, certificate, key, options.bind_address)
    authorities = [values[name] for name in ("client-ca-file", "requestheader-client-ca-file") if values[name]]
    return make_tls_context(Path(certificate), Path(key), [Path(one) for one in authorities])


def _create_serving_certificate(directory: Path, certificate: Path, key: Path, address: str) -> None:
    """Write a self-signed serving certificate, as the real server does when there is none."""
    from mockkube.cluster.state.certificates import issue_self_signed_serving_certificate
    from mockkube.cluster.state.server_names import find_machine_names

    try:
        directory.mkdir(parents=True, exist_ok=True)
        names = find_machine_names(address)
        issue_self_signed_serving_certificate(certificate, key, names, now=RealClock().now())
    except OSError as error:
        raise OptionsError(
            f"error creating self-signed certificates: open {certificate}: {(error.strerror or '').lower()}"
        ) from None


async def _open_store(options: KubeApiserverOptions, stack: AsyncExitStack) -> Store:
    """Return the store of `etcd`, which may start later than this server."""
    clock = RealClock()
    ends_at = clock.monotonic() + options.values["storage-initialization-timeout"]
    while True:
        try:
            return await stack.enter_async_context(open_store(_store_url(options.values["etcd-servers"])))
        except Unavailable:
            if clock.monotonic() >= ends_at:
                raise
            await clock.sleep(_STORE_RETRY_SECONDS)


def _store_url(servers: Sequence[str]) -> str:
    """Return the store's URL: the servers of `--etcd-servers` are those of the `etcd` executable."""
    hosts = [server.removeprefix("http://").rstrip("/") for server in servers]
    return _STORE_SCHEME + ",".join(hosts)


async def _stop_with_parent() -> None:
    import signal

    await wait_for_parent_exit()
    os.kill(os.getpid(), signal.SIGTERM)
