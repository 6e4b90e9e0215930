"""Verbs on objects, without HTTP (upstream: registry/generic/registry). Read resource.py first."""
