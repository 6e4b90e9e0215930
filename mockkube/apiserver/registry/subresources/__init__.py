"""Subresources: one module for each."""
