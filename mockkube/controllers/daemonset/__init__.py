"""daemonset-controller. Read `daemonset.py` first."""
