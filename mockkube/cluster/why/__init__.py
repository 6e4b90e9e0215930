"""Why a pod is where it is, or nowhere, or gone: the decisions of all components made again, and what would alter them.

A pod is scheduled, let in by a kubelet, and kept by the controller manager; what the API server stored of it counts in
all three. Each decision is that component's own function, called with what the component sees; a change that may help
is tried by calling it again. Nothing is written, and nothing is concluded from texts; only for whom a pod was preempted
has to be looked up in that of an event. Start with `asking`.
"""
