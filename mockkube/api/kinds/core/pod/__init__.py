"""The kind Pod. Read `pod.py` for the strategy, `spec.py` for validation."""
