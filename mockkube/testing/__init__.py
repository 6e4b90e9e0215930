"""Clusters for tests: `MockKube` for any test, the `kube` fixture for pytest.

A front door: what a cluster is lies in `cluster/`. Not here: scenarios, which are `mockkube test`.
"""

from mockkube.testing.cluster import MockKube

__all__ = ["MockKube"]
