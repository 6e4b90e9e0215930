"""How a component sees the API: client protocol, list-watch cache, event recorder.

Read `protocol.py` first. Whoever is given a `Client` cannot tell a server in the same process from one over HTTP.
"""
