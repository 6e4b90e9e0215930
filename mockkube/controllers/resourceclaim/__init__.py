"""resourceclaim-controller."""
