"""kube-scheduler: framework (extension points), queue, cycle, preemption, plugins.

Not here: what matches what (`matching/`, `proposals/`), nor how the API is reached (`client/`). Read
`framework/plugins.py` first, then `cycle.py`.
"""
