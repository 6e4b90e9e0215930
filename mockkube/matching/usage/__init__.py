"""Simulated usage of cpu and memory: no process runs, so annotations or requests decide what a container uses.

Read `pod_usage.py` first. Whoever reports usage (the resource metrics API, kubelets) calls it, so all agree.
"""
