"""Defaulting: values the server fills in for omitted fields, by kind and version.

The codec adds zero values that are always written (`status: {}`); values that depend on the cluster (addresses,
priorities, tolerations) come from admission and strategies. Start with `catalogue.py`; pods are in `pods.py`,
`pod_specs.py` and `containers.py`. Every function changes the decoded object in place and is idempotent.
"""
