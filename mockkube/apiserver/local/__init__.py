"""The client protocol without a network: components of the same process call the registry. Start with `client`."""
