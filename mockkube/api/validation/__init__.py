"""Whether an object may be stored: rules by subject, in upstream's order and words. Read `pod_spec.py` first."""
