"""Streams to containers: exec, attach and port-forward over WebSocket or SPDY, and logs that are followed.

`connect.py` answers the requests. `remote_command.py` runs exec and attach over `RemoteCommandStreams`, which
`websocket_streams.py` and `spdy_streams.py` implement. `port_forward.py` answers for ports.
"""
