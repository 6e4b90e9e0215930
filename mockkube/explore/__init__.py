"""Explore rollout plans: play every order up and down, with disturbances, and find which are safe.

A path is an order of changes up, then an order down; a move is one entry of it, such as the change of one component
with the pauses that follow; a direction is up (enable) or down (roll back); a state is everything that decides what
the next move does.

`plans/` is what can be asked, and its file format. `search` plays paths and shares the results of equal moves from
equal states (read it first), `path_runner` plays one path on a cluster, `observation/` finds what a move did,
`harm_judge` what harm that is, `exploration` is the result. `replay` plays counterexamples again and collects the
evidence of reports, which are rendered in `mockkube.report`.
"""
