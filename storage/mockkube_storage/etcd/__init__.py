"""Client of etcd's gRPC API, version 3: the requests that a store needs, on HTTP/2 of its own.

`http2.py` and `grpc.py` carry messages, `messages.py` encodes them, `connection.py` keeps a replica up to date.
"""
