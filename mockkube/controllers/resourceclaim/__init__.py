"""resourceclaim-controller. Read `resource_claim.py` first."""
