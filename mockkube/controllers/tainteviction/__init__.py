"""Eviction of pods that do not tolerate a NoExecute taint."""
