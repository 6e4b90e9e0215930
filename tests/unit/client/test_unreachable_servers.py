"""A server that does not answer is told of once."""

import logging

import pytest

from mockkube.api.errors import Forbidden, Unavailable
from mockkube.client.unreachable_servers import UnreachableServers

AWAY, REFUSED = Unavailable("the server is restarting"), Forbidden("pods is forbidden")


@pytest.fixture
def outages(caplog: pytest.LogCaptureFixture) -> UnreachableServers:
    caplog.set_level(logging.DEBUG, logger="mockkube.client")
    return UnreachableServers("kubelet")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_many_caches_without_an_answer_are_one_warning(
    outages: UnreachableServers, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("kubelet/cache/Pod", "kubelet/cache/Node", "kubelet/cache/Pod"):
        outages.log_failure(name, AWAY, 0.8)
    assert warnings(caplog) == ["kubelet: the server is restarting; retrying in 0.8 s"]
    assert len(caplog.records) == 3


def test_after_an_answer_it_is_news_again(outages: UnreachableServers, caplog: pytest.LogCaptureFixture) -> None:
    outages.log_failure("kubelet/cache/Pod", AWAY, 0.8)
    outages.clear("kubelet/cache/Node")
    outages.log_failure("kubelet/cache/Pod", AWAY, 0.8)
    assert len(warnings(caplog)) == 2


def test_a_refusal_is_told_of_each_cache_by_its_name(
    outages: UnreachableServers, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("kubelet/cache/Pod", "kubelet/cache/Node", "kubelet/cache/Pod"):
        outages.log_failure(name, REFUSED, 1.6)
    assert warnings(caplog) == [
        "kubelet/cache/Pod: pods is forbidden; retrying in 1.6 s",
        "kubelet/cache/Node: pods is forbidden; retrying in 1.6 s",
    ]
