"""Controllers of namespaces: deletion, and the objects every namespace has."""
