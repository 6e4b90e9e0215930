"""HTTP/2 connections: frames, header compression and flow control below the handler of `apiserver/http`.

Start with `connection.py`; `server.py` chooses between HTTP/1.1 and HTTP/2 for each connection. Requests and responses
are aiohttp's own classes, so one handler serves both protocols. See docs/adr for the choice of libraries.
"""
