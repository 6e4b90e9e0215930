"""device-taint-eviction-controller."""
