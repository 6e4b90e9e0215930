"""garbage-collector-controller."""
