"""Every order of a rollout, tried: up and down again, with disturbances between the steps.

`plan` is what may be asked, `loading` reads it from a file, `search` walks the orders and shares what they have in
common, `stepping` takes one step on a cluster, `observing` says what harm it did, `verdict` is what comes out of it.
Not here: how a result is shown (`mockkube.scenario.report`).
"""
