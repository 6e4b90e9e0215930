"""The kind Service. Read `service.py` first."""
