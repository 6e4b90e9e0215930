"""What the server fills in where a client left something out, per kind and version.

Not the zero values a decoded object always shows (`status: {}`): those are the codec's. Not what needs the cluster
(addresses, priorities, tolerations): that is admission and the strategies. Start reading at `catalogue.py`; pods are
in `pods.py`, `pod_specs.py` and `containers.py`. Every function changes the decoded object in place, and changes
nothing when called again.
"""
