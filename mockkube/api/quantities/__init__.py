"""Quantities and resource lists: parsing, arithmetic, and the requests of a pod. Start with `quantity.py`."""
