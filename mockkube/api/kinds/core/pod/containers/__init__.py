"""Containers of a pod: validation of each part."""
