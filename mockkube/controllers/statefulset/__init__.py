"""statefulset-controller. Read `statefulset.py` first."""
