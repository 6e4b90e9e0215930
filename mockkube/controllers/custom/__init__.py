"""Custom controllers, which users install for their custom resources; no part of kube-controller-manager.

Read `pod_set.py` first: what such a controller does. `manager.py` makes a component of it.
"""
