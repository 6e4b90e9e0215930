"""Access of components to the API: client protocol, informers, event recorders.

Read `protocol.py` first. A component that is given a `Client` cannot tell whether the server runs in the same process
or is reached over HTTP.
"""
