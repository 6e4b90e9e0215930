"""API servers of a cluster with their listeners and credentials."""
