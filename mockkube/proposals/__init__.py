"""Enhancement proposals (KEPs) that are not released: gate, release train, fields, checks, operators, plugins.

A proposal is data and pure functions, one module each. Not here: features that are released, which are part of the
code they belong to (except the decisions of `kep_3094.py`), and what a component does with a result. Read
`proposal.py` for the shape of a proposal, `catalogue.py` for the list, `component_extensions.py` for what a component
of some version gets of them, `server_impact.py` and `placement_impact.py` for what breaks without a gate.
"""
