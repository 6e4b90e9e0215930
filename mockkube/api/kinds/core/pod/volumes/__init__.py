"""Volumes of a pod: validation and defaults."""
