"""Groups that other servers serve: found by their APIServices, looked at, and asked on behalf of clients.

Read `backends` first.
"""
