"""disruption-controller: PodDisruptionBudgets."""
