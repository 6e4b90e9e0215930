"""Admit, reject and preempt pods. Start with `handlers`."""
