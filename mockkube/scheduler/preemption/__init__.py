"""Preemption: candidates, victims, dry runs, disruption budgets, and the executor that evicts victims."""
