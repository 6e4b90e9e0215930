"""Search for devices that serve all claims of a pod on one node."""
