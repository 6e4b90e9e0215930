"""Errors of what-if."""


class WhatIfError(Exception):
    """Input that cannot be used; the text names it, the place and the remedy."""
