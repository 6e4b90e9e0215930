"""kube-scheduler: framework, queue, scheduling cycle, preemption, plugins.

Semantics of taints and selectors are in `matching/` and `proposals/`, access to the API in `client/`. Read
`framework/interface.py` first, then the way of a pod: `cycle/event_handlers.py`, `queue/scheduling_queue.py`,
`cycle/scheduling_cycle.py`, `cycle/scheduling_algorithm.py`, `cycle/feasible_nodes.py`, `cycle/binding_cycle.py`.
"""
