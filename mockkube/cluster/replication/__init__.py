"""Processes that share one store: their credentials, and the leases by which they know each other.

Read `process_leases.py` first.
"""
