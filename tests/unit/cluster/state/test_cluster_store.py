"""The URL of --db chooses the layout of keys in etcd, and the prefix in front of them."""

import pytest
from mockkube_storage.engines.etcd import EtcdStore
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.errors import UnknownEngine

from mockkube.apiserver.registry.etcd_layout import GroupLayout, KubernetesLayout
from mockkube.cluster.state.cluster_store import open_cluster_store


@pytest.mark.parametrize(
    ("options", "prefix", "layout"),
    [
        pytest.param("", "/registry", GroupLayout, id="no options"),
        pytest.param("?prefix=/registry", "/registry", GroupLayout, id="same prefix"),
        pytest.param("?prefix=other/", "/other", GroupLayout, id="another prefix"),
        pytest.param("?layout=kubernetes", "/registry", KubernetesLayout, id="real layout"),
        pytest.param("?prefix=/a/b&layout=kubernetes", "/a/b", KubernetesLayout, id="both"),
    ],
)
def test_keys_in_etcd_have_prefix_and_layout_of_the_url(options: str, prefix: str, layout: type) -> None:
    store = open_cluster_store(f"etcd://127.0.0.1:2379{options}")
    assert isinstance(store, EtcdStore)
    assert store._url.options["prefix"] == prefix
    assert type(store._mapping) is layout


def test_other_stores_are_opened_as_they_are() -> None:
    assert isinstance(open_cluster_store("memory:"), MemoryStore)


@pytest.mark.parametrize("options", ["?layout=other", "?unknown=1", "?layout=group&layout=other"])
def test_an_option_that_does_not_exist_is_refused(options: str) -> None:
    with pytest.raises(UnknownEngine, match="etcd://"):
        open_cluster_store(f"etcd://127.0.0.1:2379{options}")
