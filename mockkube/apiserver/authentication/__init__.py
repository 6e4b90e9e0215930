"""Authenticators of service account tokens, which read the registry: bound tokens and legacy tokens in Secrets."""
