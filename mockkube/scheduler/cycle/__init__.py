"""Scheduling and binding cycles of a pod. Start with `scheduling_cycle`."""
