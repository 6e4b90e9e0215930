"""Control API: a cluster's own components, clock, snapshots and faults as resources, so that kubectl controls them.

The controllers that act on them are outside this package. Read `control_api.py` first: a registry over a store of its
own. `schemas.py` has the fields of the kinds; each kind has a module with its validation and printer columns.
"""
