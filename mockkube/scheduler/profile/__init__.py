"""Profiles: the framework that runs a profile's plugins, and its handle."""
