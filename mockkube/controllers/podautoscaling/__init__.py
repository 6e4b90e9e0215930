"""horizontal-pod-autoscaler-controller: sets the replicas of workloads by metrics.

Read `horizontal` first, then `workload_scaler`.
"""
