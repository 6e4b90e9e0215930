"""Perturbation of controllers: any program that takes a kubeconfig, run again and again with one disturbance each.

A workload is played undisturbed (the reference), then with perturbations chosen from what the controller did. Oracles
compare each run with the reference. Read `session.py` first, then `workload_run.py`. The faults themselves are those of
`mockkube.cluster.faults`.
"""
