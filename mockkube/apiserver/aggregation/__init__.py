"""Aggregated APIs: groups and versions that other servers serve, registered by APIServices (upstream: kube-aggregator).

Read the availability controller first.
"""
