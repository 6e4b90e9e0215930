"""Scenarios: the language, its steps and checks, the runner. Not the cluster they are played on, which is `cluster/`.

Read `catalogue` for what can be said, `loading` for how a file becomes a scenario, `playing` for how it is played.
"""
