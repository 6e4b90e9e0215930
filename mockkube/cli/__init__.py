"""Command line: parse arguments, call, print. One module per command, listed in catalogue.py."""
