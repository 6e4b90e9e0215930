"""Store of a cluster by the URL of `--db`; in etcd, the keys of objects have the layout that the URL asks for."""

import logging
from contextlib import AsyncExitStack
from typing import Final
from urllib.parse import parse_qsl, urlencode

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import Misconfigured, Unavailable, UnknownEngine
from mockkube_storage.store import Store

from mockkube.apiserver.registry.etcd_layout import GroupLayout, KubernetesLayout
from mockkube.runtime.clock import Clock

# As `--etcd-prefix` of the real API server.
PREFIX_DEFAULT: Final = "/registry"
# upstream 1.36: apiserver/pkg/storage/storagebackend/factory/etcd3.go, dialTimeout
ETCD_SECONDS_MAX: Final = 20.0
_RETRY_SECONDS: Final = 0.5
_LOG: Final = logging.getLogger("mockkube.cluster")
_ETCD_SCHEME: Final = "etcd://"
_LAYOUTS: Final = {"group": GroupLayout, "kubernetes": KubernetesLayout}
_EXPECTED: Final = f"{_ETCD_SCHEME}host:2379?layout=kubernetes or group"


def open_cluster_store(url: str) -> Store:
    """Return the store of a URL, or of the path of an SQLite file; it is not started yet. Raises UnknownEngine."""
    if not url.startswith(_ETCD_SCHEME):
        return open_store(url)
    from mockkube_storage.engines.etcd import EtcdStore

    location, _, query = url.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    layout = _LAYOUTS.get(options.pop("layout", "group"))
    if layout is None:
        raise UnknownEngine(url, _EXPECTED)
    options["prefix"] = "/" + options.get("prefix", PREFIX_DEFAULT).strip("/")
    return EtcdStore(f"{location}?{urlencode(options)}", layout())


async def start_cluster_store(url: str, stack: AsyncExitStack, clock: Clock) -> Store:
    """Return the started store, which the stack closes; wait for an etcd that is not up, or has no leader yet."""
    ends_at = clock.monotonic() + (ETCD_SECONDS_MAX if url.startswith(_ETCD_SCHEME) else 0.0)
    is_waiting = False
    while True:
        try:
            return await stack.enter_async_context(open_cluster_store(url))
        except Misconfigured:
            raise
        except Unavailable as error:
            if clock.monotonic() >= ends_at:
                raise
            if not is_waiting:
                _LOG.warning("waiting for etcd for up to %g s: %s", ETCD_SECONDS_MAX, error)
            is_waiting = True
        await clock.sleep(_RETRY_SECONDS)
