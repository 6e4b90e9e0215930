"""Kinds of authentication.k8s.io."""
