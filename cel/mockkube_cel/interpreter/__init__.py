"""Interpreter: closures that evaluate a checked tree and count its cost."""
