"""Clients within the process of an API server: they call the registry without HTTP. Read `client` first."""
