"""Responses: negotiate the format, render objects, lists and tables. Read rendering.py first."""
