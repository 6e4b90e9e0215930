"""Rollout plans: file format, actions, orders, invariants."""
