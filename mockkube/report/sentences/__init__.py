"""Sentences about results: the answer first, then what broke, how it shows, and how far to trust it."""
