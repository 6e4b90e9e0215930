"""Atlas of feature gates: what each gate of Kubernetes does if it is flipped on some components and not on others.

It plays one workload per gate in every half-way state, in every order up and down, and through a rollback. It renders
nothing: `report/gates` does. Read `gate_study.py` first.
"""
