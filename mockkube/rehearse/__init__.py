"""Rehearsal of upgrades on imported clusters: every supported order, drains, the way back, and what breaks.

Start with `rehearsal`: it calls the checks of objects (`object_checks`, `api_checks`, `component_checks`,
`webhook_checks`, `drain_checks`, `release_notes`), lists the orders that the version skew policy supports
(`upgrade_orders`), and plays them on clusters that start from the import (`order_player`). `runbook` and
`rehearsal_text` render the result.
"""
