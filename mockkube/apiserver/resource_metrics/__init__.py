"""Resource metrics API (metrics.k8s.io): simulated usage of pods and nodes, as metrics-server would report it.

It is computed from pods and nodes for each request; nothing is scraped or stored.
Read `resource_metrics_objects.py` first.
"""
