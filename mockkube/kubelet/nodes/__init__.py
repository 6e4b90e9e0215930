"""Status and lease of nodes."""
