"""Filters before the handlers (upstream: endpoints/filters): authenticate, authorize, audit, throttle, refuse."""
