"""Pure matching rules shared by all components: taints, node selectors, volumes, versions, CEL.

No I/O, no clock, nothing awaits. The capabilities of a component are passed in once, when it starts:
`TaintRules`. Read `taints.py` first.
"""
