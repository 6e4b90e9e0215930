"""The URL of --db chooses the layout of keys in etcd, and the prefix in front of them."""

from contextlib import AsyncExitStack

import pytest
from mockkube_storage.engines.etcd import EtcdStore
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.errors import Unavailable, UnknownEngine

from mockkube.apiserver.registry.etcd_layout import GroupLayout, KubernetesLayout
from mockkube.cluster.state.cluster_store import ETCD_SECONDS_MAX, open_cluster_store, start_cluster_store
from mockkube.runtime.clock import RealClock


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


class SteppedClock(RealClock):
    """A clock that sleeps in no time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.naps = 0

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.naps += 1


async def test_a_start_waits_for_etcd_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = SteppedClock()
    async with AsyncExitStack() as stack:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1: "):
            await start_cluster_store("etcd://127.0.0.1:1", stack, clock)
    assert clock.seconds == ETCD_SECONDS_MAX
    (line,) = caplog.messages
    assert line.startswith(
        "waiting for etcd for up to 20 s: store etcd://127.0.0.1:1?prefix=%2Fregistry is not available: "
    )


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("etcd://127.0.0.1:1?ca=/nonexistent", id="certificates that cannot be read"),
        pytest.param("mockkube-store://127.0.0.1:1", id="another server"),
    ],
)
async def test_a_start_does_not_wait_for_what_will_not_come(url: str) -> None:
    clock = SteppedClock()
    async with AsyncExitStack() as stack:
        with pytest.raises(Unavailable):
            await start_cluster_store(url, stack, clock)
    assert clock.naps == 0
