"""How a component sees the API: client protocol, list-watch cache, event recorder."""
