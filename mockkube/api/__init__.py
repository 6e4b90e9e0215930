"""Kubernetes API objects: schemas per version, kinds, codec, selectors, validation, errors."""
