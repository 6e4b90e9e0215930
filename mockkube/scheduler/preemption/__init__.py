"""Preemption: candidates, victims, dry runs, evictions."""
