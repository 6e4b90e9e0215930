"""Kubelets of simulated nodes: pod admission, pod lifecycle, node status and leases. Thousands of nodes are cheap."""
