"""Snapshots: save and restore the state of a cluster."""
