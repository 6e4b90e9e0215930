"""One module per enhancement proposal: its gate, its release train, what it adds, how that is judged and matched.

A proposal is data and pure functions. Not here: what is released, which lives where released code has it, and what a
component does with a verdict. Read `proposal.py` for the shape, `catalogue.py` for the list, `lending.py` for what a
component of some version gets of them, `impact.py` and `placement.py` for what breaks without a gate.
"""
