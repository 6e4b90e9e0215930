"""Scheduling framework: plugin interfaces, statuses, NodeInfo, PodInfo, cluster events."""
