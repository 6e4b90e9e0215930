"""kubectl, as far as scenarios need it, without a process: command lines taken apart, and done through a client.

Not a replacement for kubectl: `--kubectl PATH` plays the same steps with the real one.
"""
