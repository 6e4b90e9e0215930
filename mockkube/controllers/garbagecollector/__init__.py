"""garbage-collector-controller. Read `garbage_collector.py` first."""
