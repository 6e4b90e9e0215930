"""device-taint-eviction-controller. Read `device_taint_eviction.py` first."""
