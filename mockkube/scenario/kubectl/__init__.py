"""Built-in kubectl for scenarios: parses command lines and carries them out through a client, without a process.

Not a replacement for kubectl: `--kubectl PATH` plays the same steps with the real one.
"""
