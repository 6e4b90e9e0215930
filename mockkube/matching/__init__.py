"""Pure semantics shared by every component: taints, node selectors, integers, semantic versions, CEL.

No input or output, no clock, nothing awaits. What a component can do comes in as values, once, when it
starts: `taints.rules_for(caps)`. Read `taints.py` first; `rows.py` answers whole tables of questions.
"""
