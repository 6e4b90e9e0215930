"""Interpreter for the commands of simulated containers: exit time, exit code, output. Nothing is executed.

`containers/interpreter.py` interprets the command of a container of a pod. `scripts/parser.py` parses a script into a
tree, `scripts/shell.py` interprets it; `programs/programs.py` lists the known programs. Only `sleep` takes time; the
number of steps and the size of the output are bounded.
"""
