"""Common Expression Language (CEL) with the results, types, costs and error texts of cel-go.

`environment.py` compiles an expression; read it first, then `compiler.py`, which names the stages in order.
Applications add functions of their own as libraries: see `declarations.py`, and `libraries/` for examples.
"""
