"""Pod garbage collection."""
