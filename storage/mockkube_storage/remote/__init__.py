"""Protocol by which several processes share one store: the server, and the connections of its clients.

Read messages.py first: it lists the frames of both directions. The engine of a client is `engines/remote.py`.
"""
