"""pytest: the fixture `kube`, a fresh cluster for each test that asks for one.

Imported by every pytest run where mockkube is installed, so nothing else is imported before a test needs it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockkube.testing.cluster import MockKube

_MARK = "mockkube"


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", f"{_MARK}(**settings): what the cluster of the fixture kube is started with")


@pytest.fixture
def kube(request: pytest.FixtureRequest) -> "Iterator[MockKube]":
    """Return a cluster of the test's own; `@pytest.mark.mockkube(nodes=3, version="1.35")` says what it is like."""
    from mockkube.testing.cluster import MockKube

    settings: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(_MARK))):
        if mark.args:
            raise pytest.UsageError(
                f"@pytest.mark.{_MARK}: name each setting, like nodes=3, not {mark.args[0]!r} alone"
            )
        settings |= mark.kwargs
    with MockKube(**settings) as cluster:
        yield cluster
