"""Interpreter for the commands of simulated containers: exit time, exit code, output. Nothing is executed.

`interpreter.py` interprets the command of a container of a pod; `environment.py` builds its environment. `parser.py`
parses a script into the tree of `syntax.py`, `shell.py` interprets it with the words of `expansion.py`; `programs.py`
lists the known programs. Only `sleep` takes time; the number of steps and the size of the output are bounded.
"""
