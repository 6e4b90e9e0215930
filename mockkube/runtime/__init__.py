"""Interfaces to time, randomness, workers and work queues; everything that runs gets them from outside."""
