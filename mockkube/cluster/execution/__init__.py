"""Executors that run workers in real or virtual time, and the clock resource."""
