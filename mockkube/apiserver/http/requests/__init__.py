"""Requests: their body, path and query as filters and handlers see them. Read request_context.py first."""
