"""A whole Kubernetes control plane in one process; each component has its own version and gates.

Start with `mockkube.cluster`, which assembles the parts, or docs/architecture.md.
"""
