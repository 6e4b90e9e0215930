"""Validation, defaults and warnings of a pod's volumes."""
