"""Kubelets of simulated nodes: pod admission, pod lifecycle, node status and leases. Thousands of nodes are cheap.

No container runs: `containers/` computes what containers would do from annotations and commands. Read `kubelets.py`
first, which builds the workers, then `pod_workers.py`.
"""
