"""Kinds of the group policy: PodDisruptionBudgets."""
