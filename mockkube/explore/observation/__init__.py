"""Observation of a cluster along a path: stored objects, operator requests, component memory."""
