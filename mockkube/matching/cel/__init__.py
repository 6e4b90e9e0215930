"""The Common Expression Language as Kubernetes runs it: verdicts, types, costs and results are those of cel-go.

An engine of its own, because texts and costs are the point; `docs/adr/0004-cel-engine.md` says why. Not here: what a
component does with an expression. Read `environment.py` first, it names the stages in order.
"""
