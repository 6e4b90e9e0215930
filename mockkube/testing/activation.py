"""Let every client of this process, and of programs that it starts, find a cluster."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

KUBECONFIG: Final = "KUBECONFIG"
# Directory in which kubectl caches discovery, by address: ports of other clusters may come again.
_CACHE: Final = "KUBECACHEDIR"
# Variables that clients prefer to KUBECONFIG: the cluster that a pod runs in, and the server of Helm.
_OTHER_CLUSTERS: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_MASTER", "KUBECONTEXT")
_HELM: Final = "HELM_KUBE"
_NO_PROXY: Final = ("NO_PROXY", "no_proxy")
_OFFICIAL: Final = ("kubernetes", "kubernetes_asyncio")
_CONSTANT: Final = "KUBE_CONFIG_DEFAULT_LOCATION"


def make_environment(base: Mapping[str, str], kubeconfig: Path, url: str) -> dict[str, str]:
    """Return an environment in which clients find the cluster of a kubeconfig, and no other."""
    found = {name: value for name, value in base.items() if name not in _OTHER_CLUSTERS and not name.startswith(_HELM)}
    host = urlsplit(url).hostname or ""
    for name in _NO_PROXY:
        if name in base and host not in base[name].split(","):
            found[name] = f"{base[name]},{host}"
    if not any(name in base for name in _NO_PROXY):
        found[_NO_PROXY[0]] = host
    return {**found, KUBECONFIG: str(kubeconfig), _CACHE: str(kubeconfig.parent / "cache")}


@contextmanager
def activate(kubeconfig: Path, url: str) -> Iterator[None]:
    """Make every client in this process find this cluster until the block ends."""
    with ExitStack() as stack:
        for name in _OFFICIAL:
            stack.enter_context(_replace_official_defaults(name, kubeconfig))
        stack.enter_context(_forget_kr8s_clients())
        # Left first: the clients above get the path that the environment then has.
        stack.enter_context(_replace_environment(make_environment(os.environ, kubeconfig, url)))
        yield


@contextmanager
def _replace_environment(environment: Mapping[str, str]) -> Iterator[None]:
    changed = {name for name in {*os.environ, *environment} if os.environ.get(name) != environment.get(name)}
    before = {name: os.environ.get(name) for name in changed}
    _set_variables({name: environment.get(name) for name in changed})
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _replace_official_defaults(package: str, kubeconfig: Path) -> Iterator[None]:
    """Replace what an official client keeps: the path when it is imported, the configuration when that is loaded."""
    loading, before = sys.modules.get(f"{package}.config.kube_config"), None
    if loading is not None:
        before = getattr(loading, _CONSTANT)
        setattr(loading, _CONSTANT, str(kubeconfig))
    try:
        with _replace_loaded_configuration(sys.modules.get(f"{package}.client"), loading, kubeconfig):
            yield
    finally:
        # The package may have been imported meanwhile, and then has the path of the cluster.
        if (present := sys.modules.get(f"{package}.config.kube_config")) is not None:
            setattr(present, _CONSTANT, before or os.environ.get(KUBECONFIG, "~/.kube/config"))


@contextmanager
def _replace_loaded_configuration(client: Any, loading: ModuleType | None, kubeconfig: Path) -> Iterator[None]:
    if client is None:
        yield
        return
    default, shared = client.Configuration._default, client.ApiClient.__dict__.get("_default")
    client.ApiClient._default = None
    # Only a program that has loaded a configuration already may go on without loading another.
    if default is not None and loading is not None:
        _load_configuration(loading, kubeconfig)
    try:
        yield
    finally:
        client.Configuration._default, client.ApiClient._default = default, shared


def _load_configuration(loading: Any, kubeconfig: Path) -> None:
    loaded = loading.load_kube_config(config_file=str(kubeconfig))
    if asyncio.iscoroutine(loaded):
        # In a thread, as an event loop may be running in this one.
        thread = threading.Thread(target=asyncio.run, args=(loaded,), name="mockkube-activation")
        thread.start()
        thread.join()


@contextmanager
def _forget_kr8s_clients() -> Iterator[None]:
    """Let kr8s forget its clients, which it would use for each cluster of the same arguments."""
    _clear_kr8s()
    try:
        yield
    finally:
        _clear_kr8s()


def _clear_kr8s() -> None:
    kr8s: Any = sys.modules.get("kr8s._api")
    if kr8s is not None:
        kr8s.Api._instances.clear()
