"""Scenarios: the file format, steps and checks, and the runner. The cluster they run on is `cluster/`.

Read `runner/catalogue.py` for all steps and checks, `runner/loading.py` for how a file becomes a scenario,
`runner/scenario_runner.py` for how it runs. `output/` renders results.
"""
