"""Explore rollout plans: play every order up and down, with disturbances, and find which are safe.

`plans/` is what can be asked, and its file format. `search` plays paths and shares their common steps, `path_runner`
plays one path on a cluster, `observation/` finds what a step did, `harm_judge` what harm that is, `exploration` is the
result. Results are rendered elsewhere.
"""
