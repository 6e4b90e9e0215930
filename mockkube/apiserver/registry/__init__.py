"""Verbs on objects, without HTTP: read resource.py first."""
