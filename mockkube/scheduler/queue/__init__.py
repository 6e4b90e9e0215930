"""Pods waiting for a decision: which is next, and which are worth another try after what has happened.

It decides nothing about nodes. Read `queue.py` first.
"""
