"""What a container's command says it does: when it ends, with which code, what it prints. It is read, never executed.

`reading.py` asks about a container of a pod; `surroundings.py` is its environment. Shell: `parser.py` makes the tree of
`syntax.py`, `shell.py` follows it with the words of `expansion.py`; `programs.py` has the programs that are known.
Time passes only by `sleep`; steps and output are bounded.
"""
