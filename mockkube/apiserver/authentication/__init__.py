"""Authenticators that look tokens up in the registry: service account tokens, bound or kept in a Secret."""
