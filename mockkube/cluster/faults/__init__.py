"""Faults: injected into requests of components, as the control API asks."""
