"""CEL in Kubernetes: its function libraries, and expressions on taints and devices.

The engine is the package `mockkube_cel`. Read `environment.py` first.
"""
