"""Pictures of social size, as SVG or PNG, for an issue or a proposal.

`card` draws them; each kind of report has a module that fills one.
"""
