"""disruption-controller: PodDisruptionBudgets. Read `disruption.py` first."""
