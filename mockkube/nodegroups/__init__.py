"""Node groups: nodes that come with the pods that need them and go when they are idle, as by the cluster-autoscaler.

Read `autoscaler` first. Decisions are in `scale_up` and `scale_down`; what fits where is asked of the scheduler's own
plugins (`placement`).
"""
