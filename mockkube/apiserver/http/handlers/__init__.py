"""Handlers: each answers requests of one kind (upstream: endpoints/handlers). Read resource_handlers.py first."""
