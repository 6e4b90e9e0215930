"""Kinds of the group apps: workloads that keep pods running."""
