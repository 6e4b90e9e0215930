"""The kind Service. Start with `service.py`."""
