"""Clusters for tests: `MockKube` for any test, the fixture `kube` for pytest.

The clusters themselves are built in `cluster/`; scenarios belong to `mockkube test`.
"""

from mockkube.testing.cluster import MockKube

__all__ = ["MockKube"]
