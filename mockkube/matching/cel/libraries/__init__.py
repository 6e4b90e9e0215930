"""Kubernetes' own CEL functions, one module per library; each lists `FUNCTIONS`."""
