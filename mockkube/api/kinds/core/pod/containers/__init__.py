"""Validation and defaults of containers."""
