"""Explain why a pod is pending, rejected, evicted or gone, and which single change would help.

The decisions of all components are repeated with the pure functions that the components themselves use.
`pod_explainer.py` explains a pod, `owner_explanation.py` a workload that creates no pods, `scheduling.py` a decision
of the scheduler. Start with `pod_explainer.py`.
"""
