"""Explore interleavings: try the orders in which the steps of components can follow an operator's action.

A step is what one worker does in one go: an informer delivers one watch event, a controller reconciles one key, the
scheduler decides about one pod, an operator sends one request, time passes. Each informer delivers the events of its
watch in order, and each worker takes its own steps in order; apart from that any worker that is ready may be next. A
schedule is the order in which workers take their steps.

`accesses` records what steps read and write, `causality` derives which steps depend on each other and which pairs
race, `schedule_player` plays one schedule, `search` chooses the schedules (read it first), `invariants` judges them
while they are played, `plan` and `plan_file` are what is explored, `minimal_trace` shows a race.
"""
