"""Requests in, responses out: parse, call the registry, render. Read server.py first."""
