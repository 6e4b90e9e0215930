"""Store of a cluster by the URL of `--db`; in etcd, the keys of objects have the layout that the URL asks for."""

from typing import Final
from urllib.parse import parse_qsl, urlencode

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import UnknownEngine
from mockkube_storage.store import Store

from mockkube.apiserver.registry.etcd_layout import GroupLayout, KubernetesLayout

# As `--etcd-prefix` of the real API server.
PREFIX_DEFAULT: Final = "/registry"
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
