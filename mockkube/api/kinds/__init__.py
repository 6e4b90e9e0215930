"""A strategy per kind that has rules of its own; `catalogue` lists them."""
