"""Scheduling queue: active, backoff and unschedulable pods, and queueing hints.

It decides nothing about nodes. Read `scheduling_queue.py` first.
"""
