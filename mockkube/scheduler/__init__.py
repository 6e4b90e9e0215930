"""kube-scheduler: framework, queue, scheduling cycle, preemption, plugins.

Semantics of taints and selectors are in `matching/` and `proposals/`, access to the API in `client/`. Read
`framework/interface.py` first, then `scheduling_cycle.py`.
"""
