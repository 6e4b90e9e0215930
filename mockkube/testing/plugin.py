"""pytest plugin with the fixture `kube`: a new cluster for each test.

Every pytest run in an environment with mockkube imports it, so it imports the rest only when a test needs it.
"""

import gc
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockkube.testing.cluster import MockKube

_MARK = "mockkube"


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark `mockkube`."""
    config.addinivalue_line("markers", f"{_MARK}(**settings): settings of the cluster of the fixture kube")


@pytest.fixture
def kube(request: pytest.FixtureRequest) -> "Iterator[MockKube]":
    """Return a cluster for this test; `@pytest.mark.mockkube(nodes=3, version="1.35")` holds its settings.

    It runs in a thread of its own, for synchronous and asynchronous tests.
    """
    from mockkube.testing.cluster import MockKube

    settings: dict[str, Any] = {}
    # The closest mark comes first, so reversed the mark of a function overrides those of its class and module.
    for mark in reversed(list(request.node.iter_markers(_MARK))):
        if mark.args:
            raise pytest.UsageError(
                f"@pytest.mark.{_MARK}: name each setting, like nodes=3, not {mark.args[0]!r} alone"
            )
        settings |= mark.kwargs
    with MockKube(**settings) as cluster:
        yield cluster
    _exclude_shared_objects_from_collection()


@lru_cache(maxsize=1)
def _exclude_shared_objects_from_collection() -> None:
    """Exclude what the first cluster has loaded, like schemas, from garbage collection, which would walk it each time.

    With it, the slowest in twenty tests takes half the time.
    """
    gc.collect()
    gc.freeze()
